// backends/copy_parts.cpp: many copies by the CPU.
#include "backends/copy_parts.hpp"

#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "backends/host/sizes.hpp"

namespace unibuf::backends {

#ifdef __SSE2__

namespace {

constexpr std::size_t block = 4 * cache_line;

bool is_aligned(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address) % sizeof(__m128i) == 0;
}

/// Copies a multiple of `block` past the cache, while as much from `next` on is fetched.
void stream(std::byte* to, const std::byte* from, std::size_t bytes, const std::byte* next) noexcept {
    for (std::size_t at = 0; at < bytes; at += block) {
        for (std::size_t i = 0; i < block; i += cache_line) __builtin_prefetch(next + at + i, 0, 2);
        for (std::size_t i = at; i < at + block; i += sizeof(__m128i)) {
            const __m128i loaded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
            _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), loaded);
        }
    }
}

}  // namespace

void copy_parts(std::span<const part> parts, std::byte* to, const std::byte* from) noexcept {
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const part& each = parts[i];
        const part& next = parts[i + 1 < parts.size() ? i + 1 : i];
        std::byte* const target = to + each.offset;
        const std::byte* const source = from + each.offset;
        std::size_t done = 0;
        if (each.bytes >= 16 * cache_line && is_aligned(target)) {
            done = each.bytes / block * block;
            stream(target, source, done, from + next.offset);
        }
        std::memcpy(target + done, source + done, each.bytes - done);
    }
    _mm_sfence();  // such stores have no order with others
}

#else

void copy_parts(std::span<const part> parts, std::byte* to, const std::byte* from) noexcept {
    for (const part& each : parts) std::memcpy(to + each.offset, from + each.offset, each.bytes);
}

#endif

}  // namespace unibuf::backends
