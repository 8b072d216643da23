// bench/heap.hpp: how many bytes this thread has on the heap. The program's operator new and delete are replaced for
// it.
#pragma once

#include <cstddef>

namespace bench {

/// Allocations of so many bytes and more are left out: they are contents, not bookkeeping.
inline constexpr std::size_t contents = std::size_t{1} << 20;

/// Returns the bytes that the calling thread has taken with operator new, less those that it gave back, each allocation
/// as large as the heap made it. Only differences mean something.
std::ptrdiff_t heap_bytes() noexcept;

}  // namespace bench
