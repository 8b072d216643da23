// backends/pattern.hpp: a pattern, repeated.
#pragma once

#include <cstddef>
#include <span>

namespace unibuf::backends {

/// Repeats `pattern` over `to`. REQUIRES: it is not empty.
void repeat(std::span<const std::byte> pattern, std::span<std::byte> to) noexcept;

}  // namespace unibuf::backends
