// tests/unit/directory_test.cpp: the map of ranges against an array with one entry a byte.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

#include "any_region.hpp"
#include "coherence/directory.hpp"

namespace unibuf::coherence::directory_test {
namespace {

constexpr std::size_t size = 64;

std::vector<knowledge> byte_by_byte(const directory& known) {
    std::vector<knowledge> result;
    known.for_each_run(known.whole(),
                       [&](byte_range range, const knowledge& k) { result.insert(result.end(), range.size(), k); });
    return result;
}

std::set<space_set> kinds_of(const std::vector<knowledge>& all) {
    std::set<space_set> result;
    for (const knowledge& each : all) result.insert(each.current);
    return result;
}

std::set<space_set> kinds_of(const directory& known) {
    std::set<space_set> result;
    known.for_each_kind([&](const knowledge& k) { RC_ASSERT(result.insert(k.current).second); });
    return result;
}

/// Returns the same content after a look at all neighbours.
directory joined_everywhere(directory known) {
    known.update(known.whole(), [](knowledge&) {});
    return known;
}

RC_GTEST_PROP(directory, agrees_with_one_entry_a_byte, ()) {
    directory known(size);
    std::vector<knowledge> expected(size);
    const auto changes = *rc::gen::inRange(1, 60);
    for (int i = 0; i < changes; ++i) {
        const auto begin = *rc::gen::inRange<std::size_t>(0, size + 1);
        const auto end = *rc::gen::inRange<std::size_t>(0, size + 10);
        const auto bits = *rc::gen::inRange<space_set>(0, 4);
        known.update({begin, end}, [&](knowledge& k) { k.current ^= bits; });
        for (std::size_t at = begin; at < std::min(end, size); ++at) expected[at].current ^= bits;
        RC_ASSERT(byte_by_byte(known) == expected);

        std::size_t changes_of_value = 1;
        for (std::size_t at = 1; at < size; ++at) changes_of_value += expected[at] != expected[at - 1];
        RC_ASSERT(known.pieces() == changes_of_value);
        space_set everywhere = ~space_set{0};
        for (const knowledge& each : expected) everywhere &= each.current;
        RC_ASSERT(known.summarize().current == everywhere);
        RC_ASSERT(kinds_of(known) == kinds_of(expected));
        RC_ASSERT(known == joined_everywhere(known));
    }
}

RC_GTEST_PROP(directory, of_boxes_agrees_with_one_entry_a_byte, ()) {
    const std::vector<lattice> lattices = test::any_lattices();
    const std::size_t bytes = test::bytes_of(lattices);
    directory known(bytes);
    std::vector<knowledge> expected(bytes);
    for (int changes = *rc::gen::inRange(1, 30); changes > 0; --changes) {
        const region part = test::any_region(lattices, bytes);
        const auto bits = *rc::gen::inRange<space_set>(0, 4);
        known.update(part, [&](knowledge& k) { k.current ^= bits; });
        for (const std::size_t at : test::bytes_of(part)) expected[at].current ^= bits;
        RC_ASSERT(byte_by_byte(known) == expected);
        space_set everywhere = ~space_set{0};
        for (const knowledge& each : expected) everywhere &= each.current;
        RC_ASSERT(known.summarize().current == everywhere);
        RC_ASSERT(kinds_of(known) == kinds_of(expected));
        RC_ASSERT(known == joined_everywhere(known));

        const region asked = test::any_region(lattices, bytes);
        std::vector<std::size_t> visited;
        known.for_each(asked, [&](const region& piece, const knowledge& k) {
            for (const std::size_t at : test::bytes_of(piece)) {
                RC_ASSERT(k == expected[at]);
                visited.push_back(at);
            }
        });
        std::ranges::sort(visited);
        RC_ASSERT(visited == test::bytes_of(asked));
        std::vector<std::size_t> in_runs;
        known.for_each_run(asked, [&](byte_range run, const knowledge& k) {
            for (std::size_t at = run.begin; at < run.end; ++at) {
                RC_ASSERT(k == expected[at]);
                in_runs.push_back(at);
            }
        });
        RC_ASSERT(in_runs == visited);
        byte_ranges odd;
        for (const std::size_t at : test::bytes_of(asked)) {
            if (expected[at].current & 1) odd.add(byte_range{at, at + 1});
        }
        const auto is_odd = [](const knowledge& k) { return (k.current & 1) != 0; };
        RC_ASSERT(known.where(asked, is_odd) == odd);
        RC_ASSERT(known.any(asked, is_odd) == !odd.empty());
    }
}

// Ranges become boxes where the first box is asked for: rows that are known alike are one band then.
TEST(directory, of_ranges_joins_rows_that_it_sees_as_boxes) {
    constexpr lattice on{.pitch = {2, 1}, .axes = 2};
    directory known(8);
    for (std::size_t at = 0; at != 8; at += 2)
        known.update(byte_range{at, at + 1}, [](knowledge& k) { k.current = 2; });
    known.update(region(box{.on = on, .begin = {2, 0}, .end = {4, 1}}), [](knowledge& k) { k.current = 3; });
    EXPECT_EQ(known, joined_everywhere(known));
    EXPECT_EQ(known.pieces(), 4u);
}

/// Calls visit(box) for each box of a lattice of two axes.
template <class Visit>
void for_all_boxes(const lattice& on, std::size_t rows, Visit visit) {
    box each{.on = on};
    for (each.begin[0] = 0; each.begin[0] < rows; ++each.begin[0]) {
        for (each.end[0] = each.begin[0] + 1; each.end[0] <= rows; ++each.end[0]) {
            for (each.begin[1] = 0; each.begin[1] < on.extent(1); ++each.begin[1]) {
                for (each.end[1] = each.begin[1] + 1; each.end[1] <= on.extent(1); ++each.end[1]) visit(each);
            }
        }
    }
}

// Every content of 3 x 3 bytes is made, byte by byte, and changed by every box. What is known of the same content is
// the same object, however it came about.
TEST(bands, have_one_form) {
    const lattice on{.pitch = {3, 1}, .axes = 2};
    constexpr std::size_t bytes = 9;
    const box whole{.on = on, .begin = {0, 0}, .end = {3, 3}};
    const auto flip_in = [](bands& of, const box& within) {
        of.divide(within);
        std::size_t changed = 0;
        of.change(within, [&](knowledge& k, std::size_t bytes_of_it) {
            k.current ^= 1;
            changed += bytes_of_it;
        });
        EXPECT_EQ(changed, within.size());
        of.join(within, [](std::size_t, std::size_t, const box&) { return false; });
    };
    std::vector<bands> all;
    for (unsigned content = 0; content < 1U << bytes; ++content) {
        all.emplace_back(on, bytes, knowledge{});
        for (std::size_t at = 0; at < bytes; ++at) {
            if ((content >> at & 1U) != 0)
                for_each_box({at, at + 1}, on, [&](const box& of) { flip_in(all.back(), of); });
        }
    }
    for (unsigned content = 0; content < all.size(); ++content) {
        for_all_boxes(on, 3, [&](const box& of) {
            unsigned expected = content;
            for (const std::size_t at : test::bytes_of(region(of))) expected ^= 1U << at;
            bands changed = all[content];
            flip_in(changed, of);
            ASSERT_TRUE(changed == all[expected]) << content;
            unsigned found = 0;
            changed.for_each_run(whole, [&](byte_range run, const knowledge& k) {
                for (std::size_t at = run.begin; at < run.end; ++at) found |= k.current << at;
            });
            ASSERT_EQ(found, expected);
        });
    }
}

TEST(directory, keeps_a_column_as_few_pieces) {
    constexpr std::size_t rows = 10'000;
    constexpr std::size_t row = 40'000;
    directory known(rows * row);
    const lattice on{.pitch = {row, 1}, .axes = 2};
    const region column(box{.on = on, .begin = {0, 400}, .end = {rows, 404}});
    known.update(column, [](knowledge& k) { k.current = 2; });
    EXPECT_EQ(known.pieces(), 3u);
    known.update({0, 2 * row}, [](knowledge& k) { k.current = 1; });
    EXPECT_EQ(known.pieces(), 4u);
    known.update(known.whole(), [](knowledge& k) { k.current = 1; });
    EXPECT_TRUE(known.is_one());
}

TEST(directory, keeps_the_shell_of_a_block_as_at_most_27_pieces) {
    const lattice on{.pitch = {64 * 64 * 8, 64 * 8, 1}, .axes = 3};
    directory known(64 * 64 * 64 * 8);
    known.update(known.whole(), [](knowledge& k) { k.current = 1; });
    const box inside{.on = on, .begin = {1, 1, 8}, .end = {63, 63, 63 * 8}};
    known.update(region(inside), [](knowledge& k) { k.current = 2; });
    EXPECT_LE(known.pieces(), 27u);
}

void set_current(directory& known, const region& part, space_set spaces) {
    known.update(part, [&](knowledge& k) { k.current = spaces; });
}

TEST(directory, of_boxes_tells_of_its_first_byte_and_of_all) {
    const lattice on{.pitch = {10, 1}, .axes = 2};
    directory known(100);
    set_current(known, known.whole(), 2);
    set_current(known, region(box{.on = on, .begin = {0, 0}, .end = {5, 4}}), 3);
    EXPECT_EQ(known.first().current, 3U);
    EXPECT_EQ(known.summarize().current, 2U);
    set_current(known, region(box{.on = on, .begin = {0, 0}, .end = {1, 1}}), 6);
    EXPECT_EQ(known.first().current, 6U);
    EXPECT_EQ(known.summarize().current, 2U);
}

TEST(directory, shows_each_box_as_one_and_full_rows_as_one_run) {
    const lattice on{.pitch = {10, 1}, .axes = 2};
    directory known(100);
    set_current(known, region(box{.on = on, .begin = {2, 3}, .end = {8, 7}}), 1);
    const region inside(box{.on = on, .begin = {3, 2}, .end = {9, 6}});
    std::vector<region> pieces;
    known.for_each(inside, [&](const region& piece, const knowledge&) { pieces.push_back(piece); });
    EXPECT_EQ(pieces, (std::vector<region>{box{.on = on, .begin = {3, 2}, .end = {8, 3}},
                                           box{.on = on, .begin = {3, 3}, .end = {8, 6}},
                                           box{.on = on, .begin = {8, 2}, .end = {9, 6}}}));
    std::vector<byte_range> runs;
    known.for_each_run(known.whole(), [&](byte_range run, const knowledge&) { runs.push_back(run); });
    ASSERT_EQ(runs.size(), 1U + 6 * 3 + 1);
    EXPECT_EQ(runs.front(), (byte_range{0, 20}));
    EXPECT_EQ(runs.back(), (byte_range{80, 100}));
}

TEST(directory, has_runs_of_a_part_of_each_axis) {
    const lattice on{.pitch = {20, 5, 1}, .axes = 3};
    directory known(60);
    set_current(known, region(box{.on = on, .begin = {2, 0, 0}, .end = {3, 1, 1}}), 1);
    std::vector<byte_range> runs;
    known.for_each_run(region(box{.on = on, .begin = {0, 1, 2}, .end = {2, 3, 4}}),
                       [&](byte_range run, const knowledge&) { runs.push_back(run); });
    EXPECT_EQ(runs, (std::vector<byte_range>{{7, 9}, {12, 14}, {27, 29}, {32, 34}}));
}

TEST(directory, goes_on_with_ranges_where_boxes_do_not_fit_or_would_be_many) {
    const lattice on{.pitch = {10, 1}, .axes = 2};
    const region column(box{.on = on, .begin = {0, 3}, .end = {4, 5}});
    directory odd(45);  // is four rows and a half
    set_current(odd, column, 1);
    EXPECT_EQ(odd.pieces(), 9U);
    EXPECT_EQ(odd.where(odd.whole(), &knowledge::at_host), runs_of(column));
    for (const std::size_t ranges : {std::size_t{64}, std::size_t{65}}) {
        directory known(1000);
        for (std::size_t i = 1; i < ranges; ++i) set_current(known, {500 + i, 1000}, 2 + i % 2);
        ASSERT_EQ(known.pieces(), ranges);
        set_current(known, column, 1);
        EXPECT_EQ(known.pieces() == ranges + 8, ranges == 65) << "a column of four rows as eight ranges more";
        EXPECT_EQ(known.where(known.whole(), &knowledge::at_host).bytes_in(column.hull()), column.size());
    }
}

TEST(directory, forgets_a_kind_of_knowledge_that_no_byte_has) {
    directory known(100);
    byte_ranges many;
    for (std::size_t at = 0; at < 90; at += 9) many.add(byte_range{at, at + 5});
    known.update_all(many, [](knowledge& k) { k.lost = true; });
    known.update({99, 100}, [](knowledge& k) { k.open = true; });
    EXPECT_TRUE(known.summarize().any_lost);
    known.update(known.whole(), [](knowledge& k) { k.lost = false; });
    EXPECT_EQ(known.pieces(), 2U);
    EXPECT_FALSE(known.summarize().any_lost);
    EXPECT_TRUE(known.summarize().any_open);
}

TEST(directory, that_is_assigned_is_the_other_one) {
    directory known(10);
    directory other(20);
    set_current(other, {5, 15}, 1);
    known = other;
    EXPECT_EQ(known.bytes(), 20U);
    EXPECT_EQ(known, other);
    known = directory(30);
    EXPECT_EQ(known.bytes(), 30U);
    EXPECT_TRUE(known.is_one());
}

RC_GTEST_PROP(directory, takes_many_ranges_at_once_as_one_by_one, ()) {
    directory at_once(size);
    directory one_by_one(size);
    for (int i = *rc::gen::inRange(1, 10); i > 0; --i) {
        std::vector<byte_range> any(*rc::gen::inRange<std::size_t>(0, 24));
        for (byte_range& each : any) {
            each.begin = *rc::gen::inRange<std::size_t>(0, size + 5);
            each.end = each.begin + *rc::gen::inRange<std::size_t>(0, 4);
        }
        const auto bits = *rc::gen::inRange<space_set>(0, 4);
        const auto change = [&](knowledge& k) { k.current ^= bits; };
        const byte_ranges ranges = byte_ranges::of(any);
        at_once.update_all(ranges, change);
        for (const byte_range& each : ranges) one_by_one.update(each, change);
        RC_ASSERT(at_once == one_by_one);
        RC_ASSERT(at_once.summarize() == one_by_one.summarize());
    }
}

TEST(directory, clips_what_it_visits_to_what_was_asked) {
    directory known(100);
    known.update({10, 20}, [](knowledge& k) { k.current = 1; });
    std::vector<byte_range> visited;
    known.for_each_run({5, 15}, [&](byte_range range, const knowledge&) { visited.push_back(range); });
    EXPECT_EQ(visited, (std::vector<byte_range>{{5, 10}, {10, 15}}));
}

TEST(directory, of_no_bytes_has_no_pieces) {
    directory known(0);
    known.update(known.whole(), [](knowledge&) { FAIL(); });
    known.for_each_run({0, 10}, [](byte_range, const knowledge&) { FAIL(); });
}

TEST(directory, that_is_whole_everywhere_again_is_one_range) {
    directory known(1000);
    for (std::size_t at = 0; at < 1000; at += 10) known.update({at, at + 5}, [](knowledge& k) { k.current = 1; });
    EXPECT_EQ(known.pieces(), 200u);
    known.update(known.whole(), [](knowledge& k) { k.current = 3; });
    EXPECT_EQ(known.pieces(), 1u);
}

}  // namespace
}  // namespace unibuf::coherence::directory_test
