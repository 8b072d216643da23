// pool/size_classes.hpp: sizes that share buffers. Pure.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "unibuf/detail/sizes.hpp"

namespace unibuf::detail {

inline constexpr std::size_t smallest_class = 64;

/// Returns the least size of a class that has room for `bytes`. There are eight classes between a power of two and the
/// next, so that less than an eighth is wasted; below 512 they are multiples of 64.
constexpr std::size_t class_of(std::size_t bytes) noexcept {
    if (bytes <= smallest_class) return smallest_class;
    const std::size_t step = std::max(std::bit_floor(bytes) / 8, smallest_class);
    return rounded_up(bytes, step);
}

}  // namespace unibuf::detail
