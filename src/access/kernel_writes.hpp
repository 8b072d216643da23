// access/kernel_writes.hpp: bytes of the host's copy that system calls may write, where a signal finds the program's.
#pragma once

#include <cstdint>

#include "access/access_request.hpp"
#include "buffer/core.hpp"

namespace unibuf::detail {

/// Lets system calls write what a lease has at the host, until end_kernel_write; for any other lease it does nothing.
void let_kernel_write(guarded& state, std::uint64_t lease, const access_request& request) noexcept;

/// Does so for bytes that anybody holds. Returns whether end_kernel_write is to be called.
bool let_kernel_write(guarded& state, const region& part) noexcept;
void end_kernel_write(const guarded& state, const region& part) noexcept;

}  // namespace unibuf::detail
