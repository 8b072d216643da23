// support/bytes.hpp: contents to write, and how those that come back compare with them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

namespace unibuf::test {

using bytes = std::vector<std::byte>;

/// Returns `count` bytes that look random, and are the same for the same `seed`.
bytes noise(std::size_t count, unsigned seed = 1);

/// Returns whether `got` is `wanted`, and says where they first differ.
::testing::AssertionResult same(std::span<const std::byte> got, std::span<const std::byte> wanted);

}  // namespace unibuf::test
