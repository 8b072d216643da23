// tests/unit/range_tree_test.cpp: a tree of ranges beside a plain list.
#include "coherence/range_tree.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace unibuf::coherence::range_tree_test {
namespace {

struct numbered {
    byte_range bytes{};
    int number = 0;

    byte_range range() const noexcept { return bytes; }
};

using numbers = std::multiset<int>;

numbers found_by(const range_tree<numbered>& in, byte_range range) {
    numbers result;
    in.any(range, [&](const numbered& each) {
        result.insert(each.number);
        return false;
    });
    return result;
}

numbers all_of(const range_tree<numbered>& in) {
    numbers result;
    in.any([&](const numbered& each) {
        result.insert(each.number);
        return false;
    });
    return result;
}

byte_range any_range() {
    const auto begin = *rc::gen::inRange<std::size_t>(0, 20);
    return {begin, begin + *rc::gen::inRange<std::size_t>(0, 8)};
}

RC_GTEST_PROP(a_range_tree, finds_what_a_list_finds, ()) {
    range_tree<numbered> tree;
    std::vector<numbered*> list;
    int number = 0;
    for (int left = *rc::gen::inRange(1, 120); left > 0; --left) {
        if (list.empty() || *rc::gen::inRange(0, 5) > 1) {
            list.push_back(&tree.add({any_range(), ++number}));
        } else {
            const auto index = *rc::gen::inRange<std::size_t>(0, list.size());
            numbered* const gone = std::exchange(list[index], list.back());
            list.pop_back();
            const int expected = gone->number;
            RC_ASSERT(tree.remove(*gone).number == expected);
        }
        RC_ASSERT(tree.empty() == list.empty());
        const byte_range asked = any_range();
        numbers overlapping;
        numbers all;
        for (const numbered* const each : list) {
            all.insert(each->number);
            if (each->bytes.overlaps(asked)) overlapping.insert(each->number);
        }
        RC_ASSERT(found_by(tree, asked) == overlapping);
        RC_ASSERT(all_of(tree) == all);
        int asked_times = 0;
        const bool any = tree.any(asked, [&](const numbered&) { return ++asked_times == 1; });
        RC_ASSERT(any == !overlapping.empty() && asked_times == (any ? 1 : 0));
    }
}

TEST(a_range_tree, visits_few_of_many) {
    range_tree<numbered> tree;
    constexpr std::size_t count = 100'000;
    std::vector<numbered*> all;
    for (std::size_t i = 0; i != count; ++i) all.push_back(&tree.add({{8 * i, 8 * i + 4}, static_cast<int>(i)}));
    EXPECT_EQ(found_by(tree, {8 * 777 + 3, 8 * 779}), (numbers{777, 778}));
    EXPECT_EQ(found_by(tree, {8 * 777 + 4, 8 * 778}), numbers{});
    for (numbered* const each : all) tree.remove(*each);  // deep recursion would end here, and quadratic work
    EXPECT_TRUE(tree.empty());
}

}  // namespace
}  // namespace unibuf::coherence::range_tree_test
