// access/kernel_writes.cpp: bytes of the host's copy that system calls may write, where a signal finds the program's.
#include "access/kernel_writes.hpp"

#include <new>

#include "tracking/kernel.hpp"

namespace unibuf::detail {
namespace {

/// Returns the bytes that a system call may be told to write for a lease of `part`.
byte_ranges written_by_kernel(const region& part) {
    return host_writes::is_scattered(part) ? byte_ranges(part.hull()) : runs_of(part);
}

}  // namespace

void let_kernel_write(guarded& state, std::uint64_t lease, const access_request& request) noexcept {
    if (request.where != host || request.what == access::read) return;
    if (let_kernel_write(state, request.part)) state.holds.note_opened(lease);
}

bool let_kernel_write(guarded& state, const region& part) noexcept {
    if (!tracking::kernel::is_by_signal()) return false;
    try {
        return state.writes()->let_kernel_write(written_by_kernel(part));
    } catch (const std::bad_alloc&) {  // system calls may fail there
        return false;
    }
}

void end_kernel_write(const guarded& state, const region& part) noexcept {
    if (!state.writes()) return;
    try {
        state.writes()->end_kernel_write(written_by_kernel(part));
    } catch (const std::bad_alloc&) {  // these pages count as written from now on
    }
}

}  // namespace unibuf::detail
