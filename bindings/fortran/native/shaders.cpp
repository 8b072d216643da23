// shaders.cpp: the procedures of gpu_compute_shaders.
#include <ISO_Fortran_binding.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unibuf/error.hpp>
#include <unibuf/lease_together.hpp>
#include <vector>

#include "creation.hpp"
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

/// What a dispatch uses at a binding.
struct used_buffer {
    unsigned binding;
    std::shared_ptr<gpu_holds> holds;
    extent part;
    access what;
};

/// Leases what a dispatch uses while `start` queues it: parts of a buffer that overlap are one lease.
void lease_for(const std::vector<used_buffer>& used, const gpu& at,
               const std::function<void(std::span<const storage_at>)>& start) {
    std::vector<wanted_byte_lease> wanted;
    std::vector<std::size_t> lease_at;  // the index in `wanted` of each used buffer
    for (const used_buffer& each : used) {
        const std::size_t end = each.part.offset + each.part.bytes;
        const auto overlaps = [&](const wanted_byte_lease& other) {
            const access_options& has = other.options;
            return other.of == &each.holds->whole() && each.part.offset < has.offset + has.count && has.offset < end;
        };
        const auto known = std::ranges::find_if(wanted, overlaps);
        lease_at.push_back(static_cast<std::size_t>(known - wanted.begin()));
        if (known == wanted.end()) {
            const access_options range{.offset = each.part.offset, .count = each.part.bytes, .on = at.on};
            wanted.push_back({&each.holds->whole(), at.where, each.what, range});
            continue;
        }
        const std::size_t last = std::max(end, known->options.offset + known->options.count);
        known->options.offset = std::min(known->options.offset, each.part.offset);
        known->options.count = last - known->options.offset;
        if (each.what != access::read) known->what = each.what;
    }
    std::vector<byte_lease> taken(wanted.size());
    lease_together(wanted, taken, [&] {
        std::vector<storage_at> bound;
        for (std::size_t i = 0; i < used.size(); ++i) {
            native_memory copy = taken[lease_at[i]].native();
            copy.offset += used[i].part.offset - wanted[lease_at[i]].options.offset;
            copy.bytes = used[i].part.bytes;
            bound.push_back({used[i].binding, copy});
        }
        start(bound);
    });
}

/// Dispatches for the buffers that are bound. What the host has taken of them goes to the device first.
void dispatch_bound(const compute_shader& shader, const group_counts& groups,
                    const std::vector<uniform_value>& uniforms) {
    std::vector<used_buffer> used;
    std::vector<unsigned> bindings;
    for (const unsigned binding : shader.bindings()) {
        const auto bound = bound_at(shader.where(), binding);
        if (!bound) continue;
        used.push_back({binding, bound->holds, bound->part, bound->what});
        bindings.push_back(binding);
    }
    shader.check(groups, bindings, uniforms);  // a dispatch that is refused leaves the host its turn
    for (const used_buffer& each : used) each.holds->begin_with_host();
    lease_for(used, gpu_at(shader.where()),
              [&](std::span<const storage_at> buffers) { shader.dispatch_bound(groups, buffers, uniforms); });
}

/// Dispatches for just these buffers: the first one is at binding 0.
void dispatch_with(const compute_shader& shader, const group_counts& groups, const std::vector<handle>& given,
                   const std::vector<uniform_value>& uniforms) {
    for (const unsigned binding : shader.bindings()) {
        if (binding < given.size()) continue;
        throw error(error_code::invalid_argument, "the shader uses binding " + std::to_string(binding) + ", and " +
                                                      std::to_string(given.size()) +
                                                      " buffers were given, from binding 0 on");
    }
    shader.check(groups, shader.bindings(), uniforms);
    std::vector<used_buffer> used;
    for (const handle& each : given) {
        unified& of = buffers().get(each);
        if (of.device().where != shader.where()) {
            throw error(error_code::invalid_argument, "a shader of " + shader.where().name() +
                                                          " was to use a buffer that is for " +
                                                          of.device().where.name());
        }
        of.before_access();
        used.push_back({static_cast<unsigned>(used.size()), of.holds(), of.part(), of.use_of_shader()});
    }
    lease_for(used, gpu_at(shader.where()),
              [&](std::span<const storage_at> buffers) { shader.dispatch_with(groups, buffers, uniforms); });
}

}  // namespace
}  // namespace unibuf::fortran

using namespace unibuf::fortran;

extern "C" {

handle unibuf_fortran_create_shader(const CFI_cdesc_t* source, const CFI_cdesc_t* device, int* stat,
                                    CFI_cdesc_t* errmsg) {
    return create(shaders(), stat, errmsg,
                  [&] { return std::make_unique<compute_shader>(gpu_named(text_of(device)), text_of(source)); });
}

void unibuf_fortran_dispatch(const handle* shader, const int* x, const int* y, const int* z, const CFI_cdesc_t* buffers,
                             const CFI_cdesc_t* uniforms, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        const compute_shader& with = shaders().get(*shader);
        const group_counts groups{*x, y ? *y : 1, z ? *z : 1};
        const auto values = elements_of<uniform_value>(uniforms);
        if (!buffers) return dispatch_bound(with, groups, values);
        dispatch_with(with, groups, elements_of<handle>(buffers), values);
    });
}

void unibuf_fortran_destroy_shader(const handle* shader, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { shaders().remove(*shader); });
}

}  // extern "C"
