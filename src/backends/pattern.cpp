// backends/pattern.cpp: a pattern, repeated.
#include "backends/pattern.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace unibuf::backends {

void repeat(std::span<const std::byte> pattern, std::span<std::byte> to) noexcept {
    assert(!pattern.empty());
    const bool uniform = std::ranges::all_of(pattern, [&](std::byte b) { return b == pattern.front(); });
    if (uniform) {
        std::memset(to.data(), static_cast<int>(pattern.front()), to.size());
        return;
    }
    // The pattern is doubled up to a block that fits the cache, then that block is copied again and again: as fast as
    // memory for any pattern.
    constexpr std::size_t cached = std::size_t{16} << 10;
    const std::size_t block = std::max(pattern.size(), cached / pattern.size() * pattern.size());
    std::size_t done = std::min(pattern.size(), to.size());
    std::memcpy(to.data(), pattern.data(), done);
    while (done < to.size()) {
        const std::size_t next = std::min({done, block, to.size() - done});
        std::memcpy(to.data() + done, to.data(), next);
        done += next;
    }
}

std::span<const std::byte> shortest(std::span<const std::byte> pattern) noexcept {
    const bool uniform = std::ranges::all_of(pattern, [&](std::byte each) { return each == pattern[0]; });
    return uniform ? pattern.first(1) : pattern;
}

}  // namespace unibuf::backends
