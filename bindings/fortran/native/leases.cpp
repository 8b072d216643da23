// leases.cpp: acquire_buffer and release_buffer of a range.
#include <ISO_Fortran_binding.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unibuf/error.hpp>

#include "creation.hpp"
#include "options.hpp"
#include "pointers.hpp"
#include "report.hpp"
#include "unified.hpp"

namespace unibuf::fortran {
namespace {

struct lease_of_handle {
    byte_lease held;
    std::optional<section_layout> layout;  // of a section whose elements do not follow each other

    const section_layout* lies() const noexcept { return layout ? &*layout : nullptr; }
};

slots<lease_of_handle>& leases() noexcept {
    static constinit slots<lease_of_handle> all("a lease");
    return all;
}

}  // namespace
}  // namespace unibuf::fortran

using namespace unibuf::fortran;

extern "C" {

handle unibuf_fortran_acquire(const handle* buffer, const CFI_cdesc_t* where, const int* what,
                              const std::int64_t* offset, const std::int64_t* size, const std::int64_t* timeout,
                              int* stat, CFI_cdesc_t* errmsg) {
    return create(leases(), stat, errmsg, [&] {
        const extent part = extent_of(offset, size);
        const unibuf::access_options options{
            .offset = part.offset, .count = part.bytes, .timeout = timeout_of(timeout), .on = {}};
        const unibuf::space at = gpu_named(text_of(where));
        unified& of = buffers().get(*buffer);
        auto taken = std::make_unique<lease_of_handle>();
        taken->held = of.acquire(at, access_of(*what), options);
        if (const section_layout* const lies = of.layout()) taken->layout = *lies;
        return taken;
    });
}

void unibuf_fortran_release(const handle* lease, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { leases().remove(*lease); });
}

void unibuf_fortran_lease_pointer(const handle* lease, CFI_cdesc_t* pointer, const CFI_cdesc_t* shape, int* stat,
                                  CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        const lease_of_handle& of = leases().get(*lease);
        const unibuf::byte_lease& held = of.held;
        if (of.lies()) return associate(*pointer, *of.lies(), shape, held.data());
        const shaped_range wanted(held.bytes(), pointer->elem_len, pointer->rank, shape, 0);
        associate(*pointer, wanted, held.data());
    });
}

void unibuf_fortran_locate_in_lease(const handle* lease, const int* rank, const int* element_size,
                                    const CFI_cdesc_t* shape, void** address, std::int64_t* extents, int* stat) {
    carry_out(stat, nullptr, [&] {
        const lease_of_handle& of = leases().get(*lease);
        const unibuf::byte_lease& held = of.held;
        check_together(of.lies());
        const auto each = static_cast<std::size_t>(*element_size);
        const shaped_range wanted(held.bytes(), each, *rank, shape, 0);
        for (int axis = 0; axis < *rank; ++axis) extents[axis] = wanted.extent(axis);
        *address = held.data();
    });
}

std::intptr_t unibuf_fortran_lease_handle(const handle* lease, std::int64_t* offset, int* stat, CFI_cdesc_t* errmsg) {
    unibuf::native_memory native;
    carry_out(stat, errmsg, [&] { native = leases().get(*lease).held.native(); });
    if (offset) *offset = static_cast<std::int64_t>(native.offset);
    return static_cast<std::intptr_t>(native.handle);
}

}  // extern "C"
