// tests/unit/few_test.cpp: a list with room of its own beside a plain one.
#include "containers/few.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace unibuf::few_test {
namespace {

using value = std::shared_ptr<int>;  // one that is lost, or destroyed twice, shows in its count

RC_GTEST_PROP(a_list_of_few, is_as_a_plain_one, ()) {
    few<value, 3> list;
    std::vector<value> wanted;
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 12));
    for (const int step : steps) {
        const std::size_t place = wanted.empty() ? 0 : *rc::gen::inRange<std::size_t>(0, wanted.size());
        const auto offset = static_cast<std::ptrdiff_t>(place);
        if (step < 6) {
            const value added = std::make_shared<int>(step);
            list.push_back(added);
            wanted.push_back(added);
        } else if (step == 6) {
            const std::vector<value> more(place, std::make_shared<int>(step));
            list.append(more);
            wanted.insert(wanted.end(), more.begin(), more.end());
        } else if (step == 7) {
            const value like = std::make_shared<int>(step);
            list.resize(place + 2, like);
            wanted.resize(place + 2, like);
        } else if (step == 8) {
            list.reserve(place + 4);
            RC_ASSERT(list.capacity() >= place + 4);
        } else if (step == 9) {
            list.erase(&list[place], list.end());
            wanted.erase(wanted.begin() + offset, wanted.end());
        } else if (!wanted.empty()) {
            list.erase(&list[place]);
            wanted.erase(wanted.begin() + offset);
        }
        RC_ASSERT(std::ranges::equal(list, wanted));
        RC_ASSERT(list.size() <= list.capacity());
    }
    list.clear();
    for (const value& each : wanted) RC_ASSERT(each.use_count() == std::ranges::count(wanted, each));
}

TEST(a_list_of_few, needs_memory_for_more_alone) {
    few<value, 3> list;
    const auto lies_inside = [&] {
        const auto* const first = reinterpret_cast<const std::byte*>(list.data());
        const auto* const self = reinterpret_cast<const std::byte*>(&list);
        return first >= self && first < self + sizeof list;
    };
    for (int i = 0; i < 3; ++i) list.push_back(std::make_shared<int>(i));
    EXPECT_TRUE(lies_inside());
    list.push_back(std::make_shared<int>(3));
    EXPECT_FALSE(lies_inside());
    EXPECT_EQ(*list.front(), 0);
    EXPECT_EQ(*list.back(), 3);
}

}  // namespace
}  // namespace unibuf::few_test
