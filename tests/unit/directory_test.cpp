// tests/unit/directory_test.cpp: the map of ranges against an array with one entry a byte.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "coherence/directory.hpp"

namespace unibuf::coherence {
namespace {

constexpr std::size_t size = 64;

std::vector<knowledge> byte_by_byte(const directory& known) {
    std::vector<knowledge> result;
    known.for_each(known.whole(),
                   [&](byte_range range, const knowledge& k) { result.insert(result.end(), range.size(), k); });
    return result;
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
        RC_ASSERT(known.ranges() == changes_of_value);
        space_set everywhere = ~space_set{0};
        for (const knowledge& each : expected) everywhere &= each.current;
        RC_ASSERT(known.summarize().current == everywhere);
    }
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
        at_once.update(ranges, change);
        for (const byte_range& each : ranges) one_by_one.update(each, change);
        RC_ASSERT(at_once == one_by_one);
        RC_ASSERT(at_once.summarize() == one_by_one.summarize());
    }
}

TEST(directory, clips_what_it_visits_to_what_was_asked) {
    directory known(100);
    known.update({10, 20}, [](knowledge& k) { k.current = 1; });
    std::vector<byte_range> visited;
    known.for_each({5, 15}, [&](byte_range range, const knowledge&) { visited.push_back(range); });
    EXPECT_EQ(visited, (std::vector<byte_range>{{5, 10}, {10, 15}}));
}

TEST(directory, of_no_bytes_has_no_pieces) {
    directory known(0);
    known.update(known.whole(), [](knowledge&) { FAIL(); });
    known.for_each({0, 10}, [](byte_range, const knowledge&) { FAIL(); });
}

TEST(directory, that_is_whole_everywhere_again_is_one_range) {
    directory known(1000);
    for (std::size_t at = 0; at < 1000; at += 10) known.update({at, at + 5}, [](knowledge& k) { k.current = 1; });
    EXPECT_EQ(known.ranges(), 200u);
    known.update(known.whole(), [](knowledge& k) { k.current = 3; });
    EXPECT_EQ(known.ranges(), 1u);
}

}  // namespace
}  // namespace unibuf::coherence
