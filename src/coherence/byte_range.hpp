// coherence/byte_range.hpp: a half-open range of bytes.
#pragma once

#include <algorithm>
#include <cstddef>

namespace unibuf {

struct byte_range {
    std::size_t begin = 0;
    std::size_t end = 0;

    constexpr bool empty() const noexcept { return begin >= end; }
    constexpr std::size_t size() const noexcept { return empty() ? 0 : end - begin; }
    constexpr bool overlaps(byte_range other) const noexcept {
        return std::max(begin, other.begin) < std::min(end, other.end);
    }
    constexpr bool contains(byte_range other) const noexcept { return begin <= other.begin && other.end <= end; }
    constexpr byte_range clipped_to(byte_range other) const noexcept {
        return {std::max(begin, other.begin), std::min(end, other.end)};
    }

    /// Returns the smallest range that has the bytes of both.
    constexpr byte_range joined_with(byte_range other) const noexcept {
        if (empty() || other.empty()) return empty() ? other : *this;
        return {std::min(begin, other.begin), std::max(end, other.end)};
    }

    friend constexpr bool operator==(byte_range, byte_range) noexcept = default;
};

}  // namespace unibuf
