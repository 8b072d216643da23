// tests/unit/tracking_compared_test.cpp: what a watch by comparing finds, by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "support/seeds.hpp"
#include "tracking_pages.hpp"

namespace unibuf::tracking::tracking_compared_test {
namespace {

using ranges = std::vector<byte_range>;

constexpr std::size_t line = 64;

class a_compared_memory : public ::testing::Test {
protected:
    static constexpr std::size_t bytes = 10 * line + 7;

    void SetUp() override {
        ASSERT_TRUE(by_);
        ASSERT_EQ(by_->in_units().each, line);
    }

    ranges scan(byte_range range) {
        ranges found;
        by_->scan(range, {}, found);
        return found;
    }

    ranges touched(byte_range range) {
        ranges found;
        by_->touched(range, found);
        return found;
    }

    static constexpr byte_range whole{0, bytes};

    std::vector<std::byte> memory_{bytes};
    std::unique_ptr<watch> by_ = make_watch(memory_, own_pages::none);
};

byte_range lines(std::size_t first, std::size_t count) { return {first * line, (first + count) * line}; }

TEST_F(a_compared_memory, is_for_a_small_page_and_less) {
    std::vector<std::byte> page(most_compared() + 1);
    EXPECT_EQ(make_watch(page, own_pages::none), nullptr);
    EXPECT_NE(make_watch(std::span(page).first(page.size() - 1), own_pages::none), nullptr);
    EXPECT_EQ(make_watch({}, own_pages::none), nullptr);
    EXPECT_EQ(make_watch({}, own_pages::all), nullptr);
}

TEST_F(a_compared_memory, finds_the_line_of_a_store_once) {
    by_->arm(whole);
    EXPECT_EQ(scan(whole), ranges{});
    EXPECT_FALSE(by_->any_written(whole));
    memory_[3 * line + 5] = std::byte{1};
    EXPECT_TRUE(by_->any_written(whole));
    EXPECT_TRUE(by_->any_written(whole));
    EXPECT_EQ(scan(whole), ranges{lines(3, 1)});
    EXPECT_EQ(scan(whole), ranges{});
}

TEST_F(a_compared_memory, finds_any_byte) {
    by_->arm(whole);
    for (std::size_t i = 0; i < bytes; ++i) {
        memory_[i] ^= std::byte{0x80};
        const std::size_t begin = i / line * line;
        ASSERT_EQ(scan(whole), (ranges{{begin, std::min(begin + line, bytes)}})) << i;
    }
}

TEST_F(a_compared_memory, joins_lines_that_touch) {
    by_->arm(whole);
    std::memset(memory_.data() + 2 * line - 1, 1, line + 2);
    memory_[bytes - 1] = std::byte{1};
    EXPECT_EQ(scan(whole), (ranges{lines(1, 3), {10 * line, bytes}}));
}

TEST_F(a_compared_memory, a_value_that_comes_back_is_no_write) {
    by_->arm(whole);
    memory_[0] = std::byte{1};
    memory_[0] = std::byte{0};
    EXPECT_EQ(scan(whole), ranges{});
}

TEST_F(a_compared_memory, looks_only_where_it_is_told_rounded_outwards) {
    by_->arm(whole);
    std::ranges::fill(memory_, std::byte{1});
    EXPECT_EQ(scan({2 * line + 1, 2 * line + 2}), ranges{lines(2, 1)});
    EXPECT_EQ(scan({4 * line - 1, 4 * line + 1}), ranges{lines(3, 2)});
    EXPECT_EQ(scan(whole), (ranges{lines(0, 2), {5 * line, bytes}}));
}

TEST_F(a_compared_memory, arming_forgets_what_came_before_rounded_outwards) {
    by_->arm(whole);
    std::ranges::fill(memory_, std::byte{1});
    by_->arm({line + 1, bytes - 1});
    EXPECT_EQ(scan(whole), ranges{lines(0, 1)});
}

TEST_F(a_compared_memory, touched_is_what_is_not_zero) {
    EXPECT_EQ(touched(whole), ranges{});
    memory_[line] = std::byte{1};
    memory_[bytes - 1] = std::byte{1};
    EXPECT_EQ(touched(whole), (ranges{lines(1, 1), {10 * line, bytes}}));
    EXPECT_EQ(touched({0, line + 1}), ranges{lines(1, 1)});
}

TEST_F(a_compared_memory, fresh_memory_is_armed_and_what_was_touched_is_told) {
    memory_[line] = std::byte{1};
    ranges found;
    by_->arm_fresh(whole, found);
    EXPECT_EQ(found, ranges{lines(1, 1)});
    EXPECT_EQ(scan(whole), ranges{});
    memory_[0] = std::byte{1};
    EXPECT_EQ(scan(whole), ranges{lines(0, 1)});
}

TEST_F(a_compared_memory, follows_random_stores) {
    std::minstd_rand random(unibuf::test::seed(1));
    by_->arm(whole);
    std::vector<std::byte> taken = memory_;
    for (int i = 0; i < 2000; ++i) {
        for (auto left = random() % 5; left > 0; --left) {
            memory_[random() % bytes] = static_cast<std::byte>(random() >> 8);
        }
        for (const byte_range& each : scan(whole)) {
            std::memcpy(taken.data() + each.begin, memory_.data() + each.begin, each.size());
        }
        ASSERT_EQ(taken, memory_) << i;
    }
}

}  // namespace
}  // namespace unibuf::tracking::tracking_compared_test
