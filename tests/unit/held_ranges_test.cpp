// tests/unit/held_ranges_test.cpp: who holds which bytes, against one counter for each byte.
#include "coherence/held_ranges.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace unibuf::detail::held_ranges_test {
namespace {

constexpr std::size_t size = 24;

byte_range any_range() {
    const auto begin = *rc::gen::inRange<std::size_t>(0, size + 1);
    return {begin, *rc::gen::inRange<std::size_t>(begin, size + 1)};
}

/// Returns a range, or a box of the bytes as rows of 6.
region any_part() {
    if (*rc::gen::inRange(0, 3) != 0) return any_range();
    box made;
    made.on.axes = 2;
    made.on.pitch = {6, 1};
    for (std::size_t axis = 0; axis < 2; ++axis) {
        const std::size_t end = axis == 0 ? size / 6 : 6;
        made.begin[axis] = *rc::gen::inRange<std::size_t>(0, end);
        made.end[axis] = *rc::gen::inRange<std::size_t>(made.begin[axis] + 1, end + 1);
    }
    return region(made);
}

RC_GTEST_PROP(held_ranges, agree_with_a_counter_for_each_byte, ()) {
    held_ranges held;
    std::array<bool, size> pointed{};
    std::array<int, size> viewed{};
    std::vector<held_view*> views;
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
                views.push_back(&held.add_view({any_part()}));
                for (const byte_range& run : runs_of(views.back()->part)) {
                    for (std::size_t at = run.begin; at < run.end; ++at) ++viewed[at];
                }
                break;
            default:
                if (views.empty()) break;
                const auto last = views.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(views));
                for (const byte_range& run : runs_of((*last)->part)) {
                    for (std::size_t at = run.begin; at < run.end; ++at) --viewed[at];
                }
                held.end_view(**last);
                views.erase(last);
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
        RC_ASSERT(held.any_view(asked) ==
                  std::any_of(&viewed[0] + asked.begin, &viewed[0] + asked.end, [](int each) { return each != 0; }));
        RC_ASSERT(held.any() == !held.of({0, size}).empty());
    }
}

}  // namespace
}  // namespace unibuf::detail::held_ranges_test
