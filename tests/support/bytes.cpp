// support/bytes.cpp
#include "support/bytes.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace unibuf::test {

bytes noise(std::size_t count, unsigned seed) {
    std::minstd_rand random(seed);
    bytes result(count);
    for (std::byte& each : result) each = static_cast<std::byte>(random() >> 8);
    return result;
}

::testing::AssertionResult same(std::span<const std::byte> got, std::span<const std::byte> wanted) {
    if (got.size() != wanted.size()) {
        return ::testing::AssertionFailure() << got.size() << " bytes instead of " << wanted.size();
    }
    // A comparison byte by byte takes long under the sanitizers.
    if (got.empty() || std::memcmp(got.data(), wanted.data(), got.size()) == 0) return ::testing::AssertionSuccess();
    const auto [g, w] = std::ranges::mismatch(got, wanted);
    return ::testing::AssertionFailure() << "byte " << w - wanted.begin() << " of " << wanted.size() << " is "
                                         << std::to_integer<int>(*g) << " instead of " << std::to_integer<int>(*w);
}

}  // namespace unibuf::test
