// backends/cuda/past_cache.hpp: copies into memory that a device reads next.
#pragma once

#include <cstddef>

namespace unibuf::backends::cuda {

/// Copies bytes as memcpy does, by stores that go past the cache where the processor has such: it need not read what
/// it is about to overwrite then. What the calling thread does next, such as to tell a device, comes after them.
void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace unibuf::backends::cuda
