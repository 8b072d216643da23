// tests/null/works_test.cpp: the null driver of the benchmarks, and the works that are measured on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <unibuf/space.hpp>
#include <vector>

#include "null/works.hpp"

namespace unibuf::test::null_works_test {
namespace {

using namespace bench::null;

constexpr std::uint64_t kib = 1024;

const std::map<std::string, std::uint64_t> bytes_of = {
    {"change", 4}, {"rewrite_4k", 4 * kib}, {"lease", 0}, {"temporary", 0}, {"row", 16 * kib},
    {"sync", 64},  {"batch", 10'000 * kib},
};

TEST(null_works, move_the_same_bytes_by_unibuf_and_by_hand) {
    for (const named_work& each : works()) {
        SCOPED_TRACE(each.name);
        const work made = each.make();
        for (const auto* run : {&made.by_unibuf, &made.by_hand}) {
            (*run)();  // of the first time memory is made
            if (made.prepare) made.prepare();
            EXPECT_EQ(counted(*run).bytes, bytes_of.at(each.name));
        }
    }
}

TEST(null_works, are_counted_call_by_call) {
    const work made = works().front().make();
    const unibuf_null_counts by_hand = counted(made.by_hand);
    EXPECT_EQ(by_hand.calls, 1U);
    EXPECT_EQ(by_hand.waits, 0U);
    EXPECT_EQ(by_hand.events, 0U);
    const unibuf_null_counts by_unibuf = counted(made.by_unibuf);
    EXPECT_GE(by_unibuf.calls, by_hand.calls);
    made.by_unibuf();  // nobody counts
    EXPECT_EQ(counted([] {}).calls, 0U);
}

TEST(null_driver, has_all_that_unibuf_asks_for_but_opengl) {
    (void)space("cuda:0");  // it asks for all at once
    EXPECT_THAT(lacking(),
                testing::Each(testing::AnyOf(testing::StartsWith("cuGL"), testing::StartsWith("cuGraphics"))));
    EXPECT_EQ(lacking().size(), 6U);
}

}  // namespace
}  // namespace unibuf::test::null_works_test
