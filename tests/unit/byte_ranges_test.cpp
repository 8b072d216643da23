// tests/unit/byte_ranges_test.cpp: sets of ranges against an array with one bit a byte.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "coherence/byte_ranges.hpp"

namespace unibuf::byte_ranges_test {
namespace {

constexpr std::size_t size = 48;
using bits = std::array<bool, size>;

byte_range any_range() {
    const auto begin = *rc::gen::inRange<std::size_t>(0, size + 1);
    return {begin, *rc::gen::inRange<std::size_t>(begin, size + 1)};
}

std::vector<byte_range> any_ranges() {
    std::vector<byte_range> result(*rc::gen::inRange<std::size_t>(0, 8));
    std::ranges::generate(result, any_range);
    return result;
}

void set(bits& all, byte_range range, bool to) {
    for (std::size_t i = range.begin; i < range.end; ++i) all[i] = to;
}

bits bits_of(const byte_ranges& of) {
    bits result{};
    for (const byte_range& each : of) set(result, each, true);
    return result;
}

void check(const byte_ranges& got, const bits& expected) {
    RC_ASSERT(bits_of(got) == expected);
    std::size_t behind = 0;
    for (const byte_range& each : got) {
        RC_ASSERT(!each.empty());
        RC_ASSERT((each.begin > behind || behind == 0));
        behind = each.end;
    }
}

RC_GTEST_PROP(byte_ranges, agree_with_one_bit_a_byte, ()) {
    byte_ranges got;
    bits expected{};
    for (int changes = *rc::gen::inRange(1, 30); changes > 0; --changes) {
        const std::vector<byte_range> any = any_ranges();
        const byte_range one = any_range();
        switch (*rc::gen::inRange(0, 4)) {
            case 0:
                got.add(one);
                set(expected, one, true);
                break;
            case 1:
                got.add(byte_ranges::of(any));
                for (const byte_range& each : any) set(expected, each, true);
                break;
            case 2:
                got.take_out(byte_ranges::of(any));
                for (const byte_range& each : any) set(expected, each, false);
                break;
            default:
                got.take_out(one);
                set(expected, one, false);
        }
        check(got, expected);

        bits clipped{};
        std::copy(expected.begin() + static_cast<std::ptrdiff_t>(one.begin),
                  expected.begin() + static_cast<std::ptrdiff_t>(one.end),
                  clipped.begin() + static_cast<std::ptrdiff_t>(one.begin));
        check(got.clipped_to(one), clipped);
        RC_ASSERT(got.bytes_in(one) == static_cast<std::size_t>(std::ranges::count(clipped, true)));
    }
}

TEST(byte_range, that_is_joined_with_an_empty_one_stays) {
    constexpr byte_range some{10, 20};
    EXPECT_EQ(some.joined_with({}), some);
    EXPECT_EQ(byte_range{}.joined_with(some), some);
    EXPECT_EQ(some.joined_with({30, 40}), (byte_range{10, 40}));
}

TEST(byte_ranges, that_touch_are_one) {
    byte_ranges all = byte_range{10, 20};
    all.add({30, 40});
    all.add({20, 30});
    EXPECT_EQ(all, byte_ranges(byte_range{10, 40}));
}

}  // namespace
}  // namespace unibuf::byte_ranges_test
