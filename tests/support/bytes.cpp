// support/bytes.cpp
#include "support/bytes.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace unibuf::test {

bytes noise(std::size_t count, unsigned seed) {
    bytes result(count);
    // This is SplitMix64, eight bytes at a time: tests draw many millions of them.
    std::uint64_t state = seed;
    for (std::size_t done = 0; done < count; done += sizeof state) {
        state += 0x9E3779B97F4A7C15;
        std::uint64_t word = (state ^ state >> 30) * 0xBF58476D1CE4E5B9;
        word = (word ^ word >> 27) * 0x94D049BB133111EB;
        word ^= word >> 31;
        std::memcpy(&result[done], &word, std::min(sizeof word, count - done));
    }
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
