// leases.cpp: acquire_buffer and release_buffer of a range.
#include <ISO_Fortran_binding.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unibuf/error.hpp>

#include "creation.hpp"
#include "options.hpp"
#include "pointers.hpp"
#include "report.hpp"
#include "unified.hpp"

namespace unibuf::fortran {
namespace {

slots<unibuf::byte_lease>& leases() noexcept {
    static constinit slots<unibuf::byte_lease> all("a lease");
    return all;
}

access access_of(int what) {
    if (what >= 1 && what <= 3) return static_cast<access>(what);
    throw error(error_code::invalid_argument, "the access " + std::to_string(what) +
                                                  " was asked for: ACCESS_READ is 1, ACCESS_WRITE 2, "
                                                  "ACCESS_READ_WRITE 3");
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
        return std::make_unique<unibuf::byte_lease>(buffers().get(*buffer).acquire(at, access_of(*what), options));
    });
}

void unibuf_fortran_release(const handle* lease, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { leases().remove(*lease); });
}

void unibuf_fortran_lease_pointer(const handle* lease, CFI_cdesc_t* pointer, const CFI_cdesc_t* shape, int* stat,
                                  CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        const unibuf::byte_lease& held = leases().get(*lease);
        const shaped_range wanted(held.bytes(), pointer->elem_len, pointer->rank, shape, 0);
        associate(*pointer, wanted, held.data());
    });
}

void unibuf_fortran_locate_in_lease(const handle* lease, const int* rank, const int* element_size,
                                    const CFI_cdesc_t* shape, void** address, std::int64_t* extents, int* stat) {
    carry_out(stat, nullptr, [&] {
        const unibuf::byte_lease& held = leases().get(*lease);
        const auto each = static_cast<std::size_t>(*element_size);
        const shaped_range wanted(held.bytes(), each, *rank, shape, 0);
        for (int axis = 0; axis < *rank; ++axis) extents[axis] = wanted.extent(axis);
        *address = held.data();
    });
}

std::intptr_t unibuf_fortran_lease_handle(const handle* lease, std::int64_t* offset, int* stat, CFI_cdesc_t* errmsg) {
    unibuf::native_memory native;
    carry_out(stat, errmsg, [&] { native = leases().get(*lease).native(); });
    if (offset) *offset = static_cast<std::int64_t>(native.offset);
    return static_cast<std::intptr_t>(native.handle);
}

}  // extern "C"
