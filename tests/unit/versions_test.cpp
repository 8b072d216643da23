// unit/versions_test.cpp: the least that has to be moved, against a search of all ways to move it.
#include "doctor/versions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "coherence/spaces.hpp"
#include "unibuf/trace.hpp"

namespace unibuf::test::versions_test {
namespace {

using coherence::has;
using coherence::set_of;
using coherence::space_set;

constexpr std::uint8_t memories = 3;  // the host's and those of two devices

struct step {
    bool writes;
    std::uint8_t at;
};

/// Returns the fewest links that one byte crosses in a history, among all ways to send it: each state is where the
/// newest content is.
std::uint64_t by_search(const std::vector<step>& history, bool peers) {
    constexpr auto never = std::numeric_limits<std::uint64_t>::max();
    constexpr std::size_t states = 1 << memories;
    constexpr space_set all = states - 1;
    std::array<std::uint64_t, states> cost{};
    cost.fill(never);
    cost[all] = 0;  // what nobody has written is everywhere
    const auto send = [&] {
        for (bool changed = true; changed;) {
            changed = false;
            for (space_set state = 1; state < states; ++state) {
                if (cost[state] == never) continue;
                for (std::uint8_t from = 0; from < memories; ++from) {
                    for (std::uint8_t to = 0; to < memories; ++to) {
                        const bool linked = from == 0 || to == 0 || peers;
                        if (!linked || !has(state, from) || has(state, to)) continue;
                        std::uint64_t& other = cost[state | set_of(to)];
                        changed |= cost[state] + 1 < other;
                        other = std::min(other, cost[state] + 1);
                    }
                }
            }
        }
    };
    for (const step& each : history) {
        send();
        std::array<std::uint64_t, states> next{};
        next.fill(never);
        for (space_set state = 1; state < states; ++state) {
            if (cost[state] == never) continue;
            if (each.writes) {
                next[set_of(each.at)] = std::min(next[set_of(each.at)], cost[state]);
            } else if (has(state, each.at)) {
                next[state] = std::min(next[state], cost[state]);
            }
        }
        cost = next;
    }
    return *std::ranges::min_element(cost);
}

std::uint64_t by_versions(const std::vector<step>& history, bool peers) {
    doctor::versions known;
    if (peers) known.between().add(1, 2);
    for (const step& each : history) each.writes ? known.write(0, 1, each.at) : known.use(0, 1, each.at);
    return known.least();
}

TEST(versions, cost_the_least_that_any_way_to_move_them_costs) {
    constexpr std::size_t longest = 6;
    std::size_t histories = 0;
    for (const bool peers : {false, true}) {
        std::deque<std::vector<step>> open = {{}};
        while (!open.empty()) {
            const std::vector<step> history = open.front();
            open.pop_front();
            ASSERT_EQ(by_versions(history, peers), by_search(history, peers));
            ++histories;
            if (history.size() == longest) continue;
            for (const bool writes : {false, true}) {
                for (std::uint8_t at = 0; at < memories; ++at) {
                    open.push_back(history);
                    open.back().push_back({writes, at});
                }
            }
        }
    }
    EXPECT_EQ(histories, 2u * (1 + 6 + 36 + 216 + 1296 + 7776 + 46656));
}

TEST(versions, are_of_each_byte) {
    doctor::versions known;
    known.write(0, 100, 0);
    known.use(50, 150, 1);  // bytes from 100 on were not written
    EXPECT_EQ(known.least(), 50u);
    known.write(60, 70, 1);
    known.use(0, 100, 0);
    EXPECT_EQ(known.least(), 60u);
    known.make_everywhere(0, 150);
    known.use(0, 150, 1);
    EXPECT_EQ(known.least(), 60u);
}

event access_at(std::uint8_t where, access what, std::uint64_t begin = 0, std::uint64_t end = 100) {
    return {.kind = event_kind::access, .what = what, .to = where, .buffer = 1, .begin = begin, .end = end};
}

TEST(traffic, counts_no_use_for_what_was_fetched_ahead) {
    const std::uint8_t device = space("debug:0").id();
    event ahead = access_at(device, access::read);
    ahead.is_demand = false;
    event moved{.kind = event_kind::transfer, .from = 0, .to = device, .buffer = 1, .end = 100, .bytes = 100};
    const std::array events{access_at(0, access::write), moved, ahead};
    EXPECT_EQ(traffic_of(events).moved, 100u);
    EXPECT_EQ(traffic_of(events).least, 0u);
    EXPECT_EQ(traffic_of(events).declared, 100u);
    const std::array used{events[0], events[1], events[2], access_at(device, access::read)};
    EXPECT_EQ(traffic_of(used).least, 100u);
    EXPECT_EQ(traffic_of(used).ratio(), 1);
    EXPECT_EQ(traffic_of({}).ratio(), 1);
}

TEST(traffic, is_none_between_spaces_of_one_memory) {
    const std::uint8_t device = space("debug:0").id();
    const event shared{.kind = event_kind::allocation, .from = 0, .to = device, .buffer = 1, .end = 100};
    const std::array events{shared, access_at(0, access::write), access_at(device, access::read_write),
                            access_at(0, access::read)};
    EXPECT_EQ(traffic_of(events).least, 0u);
}

TEST(traffic, of_rectangles_is_that_of_their_rows) {
    const std::uint8_t device = space("debug:0").id();
    event column = access_at(device, access::read, 4, 4 + 9 * 10 + 2);
    column.axes = 1;
    column.row_bytes = 2;
    column.counts = {10, 0};
    column.pitches = {10, 0};
    const std::array events{access_at(0, access::write), column};
    EXPECT_EQ(traffic_of(events).least, 20u);
}

TEST(traffic, of_buffers_in_two_processes_is_apart) {
    const std::uint8_t device = space("debug:0").id();
    event there = access_at(device, access::read);
    there.process = 2;
    const std::array events{access_at(0, access::write), there};
    EXPECT_EQ(traffic_of(events).least, 0u);
}

}  // namespace
}  // namespace unibuf::test::versions_test
