// backends/cuda/past_cache.cpp: copies into memory that a device reads next.
#include "backends/cuda/past_cache.hpp"

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "backends/host/sizes.hpp"

namespace unibuf::backends::cuda {

#if defined(__SSE2__)

namespace {

constexpr std::size_t worthwhile = 4096;  // what is shorter stays in the cache until the device reads it

void copy_line(std::byte* to, const std::byte* from) noexcept {
    for (std::size_t at = 0; at != cache_line; at += sizeof(__m128i)) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
    }
}

}  // namespace

void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(to) % cache_line;
    if (bytes < worthwhile) {
        std::memcpy(to, from, bytes);
        return;
    }
    std::memcpy(to, from, before);
    const std::size_t end = before + (bytes - before) / cache_line * cache_line;
    for (std::size_t at = before; at != end; at += cache_line) copy_line(to + at, from + at);
    std::memcpy(to + end, from + end, bytes - end);
    _mm_sfence();
}

#else

void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) noexcept { std::memcpy(to, from, bytes); }

#endif

}  // namespace unibuf::backends::cuda
