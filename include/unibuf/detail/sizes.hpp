// unibuf/detail/sizes.hpp: arithmetic with sizes that the program gives, which may be any number.
//
// Each function costs an instruction more than the operator.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>

namespace unibuf::detail {

/// No memory is larger: the distance of its ends has to be countable.
inline constexpr std::size_t most_bytes = std::numeric_limits<std::ptrdiff_t>::max();

// Each returns nothing where the result cannot be counted.
constexpr std::optional<std::size_t> sum(std::size_t one, std::size_t other) noexcept {
    std::size_t result = 0;
    if (__builtin_add_overflow(one, other, &result)) return std::nullopt;
    return result;
}
constexpr std::optional<std::size_t> product(std::size_t one, std::size_t other) noexcept {
    std::size_t result = 0;
    if (__builtin_mul_overflow(one, other, &result)) return std::nullopt;
    return result;
}

/// Returns the least multiple of `unit`, which is not 0, that has room for `size`. Where that cannot be counted it is
/// `size` itself, which no memory has either.
constexpr std::size_t rounded_up(std::size_t size, std::size_t unit) noexcept {
    const std::size_t over = size % unit;
    return over == 0 ? size : sum(size, unit - over).value_or(size);
}

/// Returns whether `count` from `offset` on lie within `size`.
constexpr bool lies_within(std::size_t offset, std::size_t count, std::size_t size) noexcept {
    return offset <= size && count <= size - offset;
}

}  // namespace unibuf::detail
