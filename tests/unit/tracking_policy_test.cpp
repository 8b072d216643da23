// tests/unit/tracking_policy_test.cpp: which parts are watched: what it costs, pattern by pattern.
#include "tracking/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "system/pages.hpp"
#include "tracking/watch.hpp"
#include "unibuf/trace.hpp"
#include "unibuf/unibuf.hpp"

namespace unibuf::tracking::tracking_policy_test {
namespace {

constexpr std::size_t units = 512;  // pages of a part
constexpr int rounds = 200;

// These are the costs of a page in microseconds. bench/tracking_methods.cpp measured 0.4 to 1.4 for a fault and 0.1 to
// 0.5 for a transfer by memcpy, on two cores under Linux 6.18.
constexpr double fault = 1.0;
constexpr double transfer = 0.3;

/// Returns how many pages of the part the program writes in a round. Rounds count from 0.
using pattern = std::function<std::size_t(int round)>;

struct totals {
    std::size_t faults = 0;
    std::size_t moved = 0;

    double cost() const { return static_cast<double>(faults) * fault + static_cast<double>(moved) * transfer; }
};

/// Leads one part through many rounds, as a buffer does. In the first round the part is only at the host, and moves
/// whole.
class part {
public:
    totals round(std::size_t written) {
        const totals paid{watched_ ? written : 0, watched_ ? written : units};
        watched_ = watch_next(history_, watched_, watched_ ? written : 0, units);
        return paid;
    }

    bool watched() const { return watched_; }

private:
    section_history history_;
    bool watched_ = false;
};

totals play(const pattern& writes, int from = 0, int to = rounds) {
    part one;
    totals all;
    for (int i = 0; i < to; ++i) {
        const totals paid = one.round(writes(i));
        if (i < from) continue;
        all.faults += paid.faults;
        all.moved += paid.moved;
    }
    return all;
}

double never_watched(int count) { return count * static_cast<double>(units) * transfer; }

std::size_t all_written(int) { return units; }

TEST(tracking_policy, a_new_part_is_watched_after_its_first_round) {
    section_history fresh;
    EXPECT_TRUE(watch_next(fresh, false, 0, units));
}

TEST(tracking_policy, one_whole_rewrite_is_no_habit) {
    section_history history;
    EXPECT_TRUE(watch_next(history, true, units, units));
    EXPECT_FALSE(watch_next(history, true, units, units));
}

TEST(tracking_policy, a_rewrite_between_others_begins_the_count_again) {
    section_history history;
    for (int i = 0; i < rounds; ++i) {
        EXPECT_TRUE(watch_next(history, true, units, units)) << i;
        EXPECT_TRUE(watch_next(history, true, 1, units)) << i;
    }
}

TEST(tracking_policy, three_quarters_are_the_border) {
    section_history below;
    section_history at;
    for (int i = 0; i < rounds; ++i) EXPECT_TRUE(watch_next(below, true, units * 3 / 4 - 1, units)) << i;
    EXPECT_TRUE(watch_next(at, true, units * 3 / 4, units));
    EXPECT_FALSE(watch_next(at, true, units * 3 / 4, units));
}

TEST(tracking_policy, is_tried_again_after_4_8_16_32_64_and_then_every_255_rounds) {
    part one;
    std::vector<int> pauses;
    int paused = 0;
    for (int i = 0; i < 1200; ++i) {
        one.round(units);
        if (!one.watched()) {
            ++paused;
        } else if (paused != 0) {
            pauses.push_back(paused);
            paused = 0;
        }
    }
    ASSERT_GE(pauses.size(), 8U);
    EXPECT_EQ(std::vector(pauses.begin(), pauses.begin() + 8), (std::vector{4, 8, 16, 32, 64, 128, 255, 255}));
}

TEST(tracking_policy, whole_rewrites_cost_at_most_a_tenth_more_than_not_to_watch) {
    const int settled = 20 * 256;
    EXPECT_LE(play(all_written, 300, 300 + settled).cost(), 1.1 * never_watched(settled));
    // From the very beginning, at most one round in six is watched.
    EXPECT_LE(play(all_written).faults, units * rounds / 6);
}

TEST(tracking_policy, few_pages_move_alone_from_the_second_round_on) {
    for (const std::size_t written : {std::size_t{0}, std::size_t{1}, std::size_t{5}, units / 100, units / 2}) {
        const totals found = play([written](int) { return written; }, 1);
        EXPECT_EQ(found.moved, written * (rounds - 1));
        EXPECT_EQ(found.faults, written * (rounds - 1));
    }
}

TEST(tracking_policy, every_nth_page_moves_alone) {
    for (const std::size_t stride : {2U, 3U, 16U, 64U}) {
        EXPECT_EQ(play([stride](int) { return units / stride; }, 1).moved, units / stride * (rounds - 1));
    }
}

TEST(tracking_policy, pages_at_random_move_alone) {
    std::minstd_rand random(1);
    std::vector<std::size_t> written(rounds);
    std::size_t total = 0;
    for (int i = 0; i < rounds; ++i) {
        written[static_cast<std::size_t>(i)] = random() % (units / 2);
        if (i > 0) total += written[static_cast<std::size_t>(i)];
    }
    EXPECT_EQ(play([&](int i) { return written[static_cast<std::size_t>(i)]; }, 1).moved, total);
}

TEST(tracking_policy, a_hot_page_never_ends_it) {
    part one;
    one.round(1);
    for (int i = 0; i < 10 * rounds; ++i) {
        one.round(1);
        ASSERT_TRUE(one.watched()) << i;
    }
}

TEST(tracking_policy, where_little_is_written_again_it_is_exact_within_256_rounds) {
    for (int dense_for = 1; dense_for < 2 * rounds; ++dense_for) {
        part one;
        for (int i = 0; i < dense_for; ++i) one.round(units);
        int whole = 0;
        while (one.round(1).moved != 1) ASSERT_LE(++whole, 255) << dense_for;
        // It stays exact from then on.
        for (int i = 0; i < rounds; ++i) ASSERT_EQ(one.round(1).moved, 1U) << dense_for;
    }
}

TEST(tracking_policy, the_longer_the_habit_the_longer_it_is_believed) {
    const auto whole_after = [](int dense_for) {
        part one;
        for (int i = 0; i < dense_for; ++i) one.round(units);
        int whole = 0;
        while (one.round(1).moved != 1) ++whole;
        return whole;
    };
    // The pause is at most as long as the habit was.
    for (int dense_for = 3; dense_for < 2 * rounds; ++dense_for) EXPECT_LE(whole_after(dense_for), dense_for + 2);
    EXPECT_EQ(whole_after(2), 0);
}

TEST(tracking_policy, a_habit_that_ended_is_forgotten) {
    part one;
    for (int i = 0; i < 2 * rounds; ++i) one.round(units);
    while (one.round(1).moved != 1) continue;
    for (int i = 0; i < 2; ++i) one.round(units);
    int whole = 0;
    while (one.round(1).moved != 1) ++whole;
    EXPECT_EQ(whole, 4);  // as long as the first pause
}

TEST(tracking_policy, a_change_and_back_costs_what_two_beginnings_cost) {
    const pattern changing = [](int round) { return round / rounds == 1 ? std::size_t{1} : units; };
    const totals first = play(changing, 0, rounds);
    const totals second = play(changing, rounds, 2 * rounds);
    const totals third = play(changing, 2 * rounds, 3 * rounds);
    EXPECT_LE(second.moved, 255 * units + rounds);
    EXPECT_LE(third.faults, first.faults + units);  // the pauses begin short again
}

TEST(tracking_policy, no_pattern_costs_more_than_its_faults_beside_not_to_watch) {
    std::minstd_rand random(2);
    for (int run = 0; run < 50; ++run) {
        std::vector<std::size_t> written(rounds);
        for (std::size_t& each : written) each = random() % 3 == 0 ? units : random() % (units + 1);
        const totals found = play([&](int i) { return written[static_cast<std::size_t>(i)]; });
        std::size_t least = 0;
        for (const std::size_t each : written) least += each;
        EXPECT_GE(found.moved, least);
        EXPECT_LE(found.moved, units * rounds);
        EXPECT_LE(found.faults, least);
        EXPECT_LE(found.cost(), never_watched(rounds) * (fault + transfer) / transfer);
    }
}

/// A buffer goes by the policy: what is rewritten whole is assumed after a few rounds, and watched again in the end.
TEST(tracking_policy, is_what_a_buffer_goes_by) {
    if (!about().finds_writes) GTEST_SKIP() << about().description;
    constexpr std::size_t bytes = 2 * section_bytes;
    const space device("debug:0");
    buffer used(bytes);
    std::byte* const pointer = used.host();
    const auto round = [&](std::size_t written) {
        const auto before = used.statistics().bytes_moved();
        static unsigned value = 0;
        std::fill_n(pointer, written, static_cast<std::byte>(++value));
        EXPECT_EQ(used.read(device)[0], pointer[0]);
        return used.statistics().bytes_moved() - before;
    };
    const auto was_assumed = [&] {
        return std::ranges::any_of(recorded_events(), [&](const event& each) {
            return each.kind == event_kind::assumed && each.buffer == used.id() && !each.untracked;
        });
    };
    round(bytes);
    EXPECT_FALSE(was_assumed());
    for (int i = 0; i < 6; ++i) EXPECT_EQ(round(bytes), bytes);
    EXPECT_TRUE(was_assumed()) << "all of it was written in each round";
    std::uint64_t moved = bytes;
    for (int i = 0; i < 300 && moved != system::page_size(); ++i) moved = round(1);
    EXPECT_EQ(moved, system::page_size()) << "it is watched again";
}

TEST(tracking_policy, a_part_of_one_unit_is_no_special_case) {
    section_history history;
    EXPECT_TRUE(watch_next(history, true, 0, 1));
    EXPECT_TRUE(watch_next(history, true, 1, 1));
    EXPECT_FALSE(watch_next(history, true, 1, 1));
    EXPECT_EQ(history.rounds_left, 4);
}

}  // namespace
}  // namespace unibuf::tracking::tracking_policy_test
