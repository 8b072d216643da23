// backends/pattern.hpp: a pattern, repeated.
#pragma once

#include <cstddef>
#include <span>

namespace unibuf::backends {

/// Repeats `pattern` over `to`. REQUIRES: it is not empty.
void repeat(std::span<const std::byte> pattern, std::span<std::byte> to) noexcept;

/// Returns the start of `pattern` that says all of it: one byte where all bytes are the same, as zeros are.
std::span<const std::byte> shortest(std::span<const std::byte> pattern) noexcept;

}  // namespace unibuf::backends
