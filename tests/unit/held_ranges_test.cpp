// tests/unit/held_ranges_test.cpp: who holds which bytes, against one counter for each byte.
#include "tracking/held_ranges.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <vector>

namespace unibuf::detail::held_ranges_test {
namespace {

constexpr std::size_t size = 24;

byte_range any_range() {
    const auto begin = *rc::gen::inRange<std::size_t>(0, size + 1);
    return {begin, *rc::gen::inRange<std::size_t>(begin, size + 1)};
}

RC_GTEST_PROP(held_ranges, agree_with_a_counter_for_each_byte, ()) {
    held_ranges held;
    std::array<bool, size> pointed{};
    std::array<int, size> viewed{};
    std::vector<byte_range> views;
    for (int i = *rc::gen::inRange(1, 60); i > 0; --i) {
        const byte_range range = any_range();
        switch (*rc::gen::inRange(0, 4)) {
            case 0:
                held.add_pointer(range);
                std::fill(&pointed[0] + range.begin, &pointed[0] + range.end, true);
                break;
            case 1:
                held.end_pointers(range);
                std::fill(&pointed[0] + range.begin, &pointed[0] + range.end, false);
                break;
            case 2:
                held.add_view(range);
                views.push_back(range);
                for (std::size_t at = range.begin; at < range.end; ++at) ++viewed[at];
                break;
            default:
                if (views.empty()) break;
                const byte_range last = views[*rc::gen::inRange<std::size_t>(0, views.size())];
                held.end_view(last);
                views.erase(std::find(views.begin(), views.end(), last));
                for (std::size_t at = last.begin; at < last.end; ++at) --viewed[at];
        }
        const byte_range asked = any_range();
        byte_ranges expected;
        bool all_pointed = true;
        for (std::size_t at = asked.begin; at < asked.end; ++at) {
            if (pointed[at] || viewed[at] != 0) expected.add({at, at + 1});
            all_pointed &= pointed[at];
        }
        RC_ASSERT(held.of(asked) == expected);
        RC_ASSERT(held.any(asked) == !expected.empty());
        RC_ASSERT(held.for_good(asked) == all_pointed);
        RC_ASSERT(held.any() == !held.of({0, size}).empty());
    }
}

}  // namespace
}  // namespace unibuf::detail::held_ranges_test
