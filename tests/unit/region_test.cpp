// tests/unit/region_test.cpp: ranges and boxes against sets of bytes.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "any_region.hpp"
#include "coherence/region.hpp"

namespace unibuf::test::region_test {
namespace {

RC_GTEST_PROP(region, of_two_tells_what_they_have_in_common, ()) {
    const std::vector<lattice> lattices = any_lattices();
    const std::size_t bytes = bytes_of(lattices);
    const region one = any_region(lattices, bytes);
    const region other = any_region(lattices, bytes);
    const std::vector<std::size_t> first = bytes_of(one);
    const std::vector<std::size_t> second = bytes_of(other);
    std::vector<std::size_t> both;
    std::ranges::set_intersection(first, second, std::back_inserter(both));
    RC_ASSERT(one.overlaps(other) == !both.empty());
    RC_ASSERT(one.contains(other) == (both == second));

    std::vector<std::size_t> common;
    for (const region& part : one.common_with(other)) {
        const std::vector<std::size_t> of_part = bytes_of(part);
        common.insert(common.end(), of_part.begin(), of_part.end());
    }
    std::ranges::sort(common);
    RC_ASSERT(common == both);
    std::size_t in_runs = 0;
    for (const byte_range& run : runs_of(one, other)) in_runs += run.size();
    RC_ASSERT(in_runs == both.size());
}

RC_GTEST_PROP(region, has_its_bytes_in_runs, ()) {
    const std::vector<lattice> lattices = any_lattices();
    const region part = any_region(lattices, bytes_of(lattices));
    std::vector<std::size_t> bytes;
    std::size_t runs = 0;
    part.for_each_run([&](byte_range run) {
        ++runs;
        for (std::size_t at = run.begin; at < run.end; ++at) bytes.push_back(at);
    });
    RC_ASSERT(bytes == bytes_of(part));
    RC_ASSERT(bytes.size() == part.size());
    RC_ASSERT(runs == part.runs());
    RC_ASSERT(part.is_range() == (part.size() == part.hull().size()));
}

RC_GTEST_PROP(region, that_joins_another_has_the_bytes_of_both, ()) {
    const std::vector<lattice> lattices = any_lattices();
    const std::size_t bytes = bytes_of(lattices);
    const region one = any_region(lattices, bytes);
    const region later = any_region(lattices, bytes);
    const auto both = joined(one, later);
    if (!both) return;
    std::vector<std::size_t> all = bytes_of(one);
    const std::vector<std::size_t> second = bytes_of(later);
    all.insert(all.end(), second.begin(), second.end());
    std::ranges::sort(all);
    RC_ASSERT(bytes_of(*both) == all);
}

RC_GTEST_PROP(region, that_is_cut_joins_again, ()) {
    const std::vector<lattice> lattices = any_lattices();
    const region part = any_region(lattices, bytes_of(lattices));
    const box* const of = part.as_box();
    for (std::size_t axis = 0; of && axis < of->on.axes; ++axis) {
        if (of->extent(axis) == 1) continue;
        box first = *of;
        box second = *of;
        first.end[axis] = second.begin[axis] = *rc::gen::inRange(of->begin[axis] + 1, of->end[axis]);
        const bool say_no_lattice = region(first).is_range() && region(second).is_range();
        if (!say_no_lattice) RC_ASSERT(joined(region(first), region(second)) == std::optional(part));
    }
}

RC_GTEST_PROP(region, of_a_range_is_cut_into_few_boxes, ()) {
    const std::vector<lattice> lattices = any_lattices();
    const std::size_t bytes = bytes_of(lattices);
    const lattice& on = lattices.front();
    const auto begin = *rc::gen::inRange<std::size_t>(0, bytes);
    const byte_range range{begin, *rc::gen::inRange<std::size_t>(begin, bytes + 1)};
    std::size_t boxes = 0;
    std::size_t done = range.begin;
    for_each_box(range, on, [&](const box& each) {
        ++boxes;
        RC_ASSERT(each.first_byte() == done);
        RC_ASSERT(each.size() == each.hull().size());
        done = each.hull().end;
    });
    RC_ASSERT(done == range.end);
    RC_ASSERT(boxes < std::size_t{2} * on.axes);
}

TEST(region, of_all_columns_is_a_range) {
    const lattice on{.pitch = {12, 1}, .axes = 2};
    const region part(box{.on = on, .begin = {2, 0}, .end = {5, 12}});
    EXPECT_TRUE(part.is_range());
    EXPECT_EQ(part.hull(), (byte_range{24, 60}));
}

TEST(region, has_what_another_contains_in_common_as_it_is) {
    const lattice on{.pitch = {12, 1}, .axes = 2};
    const lattice other{.pitch = {6, 1}, .axes = 2};
    const region columns(box{.on = on, .begin = {1, 2}, .end = {5, 10}});
    const region within(box{.on = on, .begin = {2, 4}, .end = {4, 6}});
    const region across(box{.on = on, .begin = {2, 6}, .end = {9, 12}});
    const region halves(box{.on = other, .begin = {4, 2}, .end = {8, 6}});
    EXPECT_EQ(columns.common_with(within), std::vector{within});
    EXPECT_EQ(within.common_with(columns), std::vector{within});
    EXPECT_EQ(region(0, 100).common_with(columns), std::vector{columns});
    EXPECT_EQ(columns.common_with(region(0, 100)), std::vector{columns});
    EXPECT_EQ(columns.common_with(across), std::vector{region(box{.on = on, .begin = {2, 6}, .end = {5, 10}})});
    ASSERT_TRUE(region(0, 100).contains(halves));
    EXPECT_EQ(region(0, 100).common_with(halves), std::vector{halves});
}

TEST(region, of_the_most_axes_is_compared_along_each) {
    lattice on{.pitch = {}, .axes = shape::max_rank};
    std::size_t pitch = 1;
    for (std::size_t axis = on.axes; axis-- != 0; pitch *= 3) on.pitch[axis] = pitch;
    box all{.on = on};
    all.end.fill(3);
    EXPECT_EQ(all.size(), pitch);
    EXPECT_EQ(all.hull(), (byte_range{0, pitch}));
    for (std::size_t axis = 0; axis < on.axes; ++axis) {
        box first = all;
        box second = all;
        first.end[axis] = second.begin[axis] = 1;
        EXPECT_TRUE(all.contains(second)) << axis;
        EXPECT_FALSE(second.contains(all)) << axis;
        EXPECT_TRUE(all.overlaps(second)) << axis;
        EXPECT_FALSE(first.overlaps(second)) << axis;
        EXPECT_EQ(all.clipped_to(second), second) << axis;
        EXPECT_EQ(second.first_byte(), on.pitch[axis]);
        EXPECT_EQ(second.size(), pitch / 3 * 2);
    }
}

}  // namespace
}  // namespace unibuf::test::region_test
