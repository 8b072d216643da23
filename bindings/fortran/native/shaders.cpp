// shaders.cpp: the procedures of gpu_compute_shaders.
#include <ISO_Fortran_binding.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unibuf/error.hpp>
#include <unibuf/lease_together.hpp>
#include <vector>

#include "opengl_calls.hpp"
#include "report.hpp"
#include "unified.hpp"

namespace unibuf::fortran {
namespace {

slots<compute_shader>& shaders() noexcept {
    static constinit slots<compute_shader> all("a compute shader");
    return all;
}

/// Returns the elements of an array of rank 1, which may be a part of another; none where it is absent.
template <class T>
std::vector<T> elements_of(const CFI_cdesc_t* array) {
    std::vector<T> result;
    for (CFI_index_t i = 0; array && i < array->dim[0].extent; ++i) {
        result.push_back(
            *reinterpret_cast<const T*>(static_cast<const std::byte*>(array->base_addr) + i * array->dim[0].sm));
    }
    return result;
}

/// Dispatches for the buffers that are bound. What the host has taken of them goes to the device first.
void dispatch_bound(const compute_shader& shader, const group_counts& groups,
                    const std::vector<uniform_value>& uniforms) {
    std::vector<storage_at> buffers;
    for (const unsigned binding : shader.bindings()) {
        const auto bound = bound_at(shader.where(), binding);
        if (!bound) continue;
        bound->holds->begin_with_host();
        buffers.push_back({binding, bound->copy});
    }
    shader.dispatch_bound(groups, buffers, uniforms);
}

/// Dispatches for just these buffers, which are leased meanwhile: the first one is at binding 0. One that is given
/// twice is leased once.
void dispatch_leased(const compute_shader& shader, const group_counts& groups, const std::vector<handle>& given,
                     const std::vector<uniform_value>& uniforms) {
    std::vector<wanted_byte_lease> wanted;
    std::vector<std::size_t> lease_at;  // the index in `wanted` of each binding
    for (const handle& each : given) {
        unified& of = buffers().get(each);
        const auto known = std::ranges::find(wanted, &of.bytes(), &wanted_byte_lease::of);
        lease_at.push_back(static_cast<std::size_t>(known - wanted.begin()));
        if (known != wanted.end()) continue;
        const gpu& at = of.device();
        if (at.where != shader.where()) {
            throw error(error_code::invalid_argument,
                        "a shader of " + shader.where().name() + " was to use a buffer that is for " + at.where.name());
        }
        of.before_lease();
        wanted.push_back({&of.bytes(), at.where, of.use_of_shader(), {.on = at.on}});
    }
    std::vector<byte_lease> taken(wanted.size());
    lease_together(wanted, taken, [&] {
        std::vector<storage_at> bound;
        for (unsigned i = 0; i < lease_at.size(); ++i) bound.push_back({i, taken[lease_at[i]].native()});
        shader.dispatch_with(groups, bound, uniforms);
    });
}

}  // namespace
}  // namespace unibuf::fortran

using namespace unibuf::fortran;

extern "C" {

handle unibuf_fortran_create_shader(const CFI_cdesc_t* source, const CFI_cdesc_t* device, int* stat,
                                    CFI_cdesc_t* errmsg) {
    handle made;
    carry_out(stat, errmsg, [&] {
        made = shaders().add(std::make_unique<compute_shader>(gpu_named(text_of(device)), text_of(source)));
    });
    return made;
}

void unibuf_fortran_dispatch(const handle* shader, const int* x, const int* y, const int* z, const CFI_cdesc_t* buffers,
                             const CFI_cdesc_t* uniforms, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        const compute_shader& with = shaders().get(*shader);
        const group_counts groups{*x, y ? *y : 1, z ? *z : 1};
        const auto values = elements_of<uniform_value>(uniforms);
        if (!buffers) return dispatch_bound(with, groups, values);
        dispatch_leased(with, groups, elements_of<handle>(buffers), values);
    });
}

void unibuf_fortran_destroy_shader(const handle* shader, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { shaders().remove(*shader); });
}

}  // extern "C"
