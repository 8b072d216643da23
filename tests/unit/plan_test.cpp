// tests/unit/plan_test.cpp: what is done for an access, example by example.
#include "coherence/transitions.hpp"

#include <gtest/gtest.h>

namespace unibuf::coherence::plan_test {
namespace {

constexpr space_id a = 1;  // memory of its own
constexpr space_id b = 2;  // shares the host's memory
using kind = step::kind;

class plan_of : public testing::Test {
protected:
    plan_of() { memories.share(b, host); }

    std::vector<step> steps(byte_range range, space_id where, access what) {
        queued_works works;
        for (queued_node& each : queued) works.add(each);
        return plan(known, memories, works, {range, where, what});
    }

    void queue(std::uint64_t number, byte_range part, space_id where, bool writes) {
        queued.push_back({{.ticket = {number}, .part = part, .where = where, .writes = writes}, {}});
    }

    /// Makes `where` alone current in all bytes, which have been written.
    void written_at(space_id where) { wrote(known, known.whole(), where); }

    directory known{100};
    sharing memories;
    std::vector<queued_node> queued;
    const byte_range all{0, 100};
};

TEST_F(plan_of, a_current_copy_needs_nothing) {
    written_at(a);
    EXPECT_TRUE(steps(all, a, access::read).empty());
    EXPECT_TRUE(steps(all, a, access::write).empty());
    EXPECT_TRUE(steps(all, a, access::read_write).empty());
}

TEST_F(plan_of, what_is_overwritten_is_not_fetched) {
    written_at(host);
    EXPECT_TRUE(steps(all, a, access::write).empty());
}

TEST_F(plan_of, only_the_stale_part_moves) {
    written_at(host);
    complete(known, memories, {.does = kind::move, .part = all, .from = host, .to = a});
    wrote(known, {40, 60}, host);
    EXPECT_EQ(steps(all, a, access::read),
              (std::vector<step>{{.does = kind::move, .part = {40, 60}, .from = host, .to = a}}));
}

TEST_F(plan_of, neighbours_that_need_the_same_are_one_step) {
    wrote(known, {0, 30}, host);
    wrote(known, {30, 100}, host);
    expose(known, byte_range{30, 60}, pointers::watched);
    ASSERT_GT(known.pieces(), 1u);
    EXPECT_EQ(steps(all, a, access::read),
              (std::vector<step>{{.does = kind::move, .part = all, .from = host, .to = a}}));
}

TEST_F(plan_of, unwritten_bytes_are_made_zero_and_never_moved) {
    complete(known, memories, {.does = kind::zero, .part = all, .to = host});
    EXPECT_EQ(steps(all, a, access::read), (std::vector<step>{{.does = kind::zero, .part = all, .to = a}}));
}

TEST_F(plan_of, what_b_wrote_in_shared_memory_reaches_a_by_the_host) {
    written_at(b);
    EXPECT_EQ(steps(all, a, access::read),
              (std::vector<step>{{.does = kind::publish, .part = all, .from = b, .to = host},
                                 {.does = kind::move, .part = all, .from = host, .to = a}}));
}

TEST_F(plan_of, what_a_wrote_is_shown_to_b_after_it_reached_the_host) {
    written_at(a);
    const std::vector<step> planned = steps(all, b, access::read);
    ASSERT_GE(planned.size(), 2u);
    EXPECT_EQ(planned[planned.size() - 2], (step{.does = kind::move, .part = all, .from = a, .to = host}));
    EXPECT_EQ(planned.back(), (step{.does = kind::publish, .part = all, .from = host, .to = b}));
}

TEST_F(plan_of, writing_shared_memory_that_another_may_read_takes_it_over) {
    written_at(host);
    complete(known, memories, {.does = kind::publish, .part = all, .from = host, .to = b});
    EXPECT_EQ(steps(all, host, access::write),
              (std::vector<step>{
                  {.does = kind::publish, .part = all, .from = b, .to = host, .what = access::write, .seen = true}}));
}

// Where the two sides may have bytes of their own, a publication moves bytes: never over newer ones.
TEST_F(plan_of, a_side_that_has_the_newest_is_not_given_what_is_older) {
    written_at(b);
    known.update(all, [](knowledge& each) { each.current |= set_of(a); });
    EXPECT_EQ(
        steps(all, b, access::read_write),
        (std::vector<step>{
            {.does = kind::publish, .part = all, .from = host, .to = b, .what = access::read_write, .seen = true}}));
}

// A reader waits for work that writes the memory; a writer waits for all work that uses it.

TEST_F(plan_of, a_reader_waits_for_writers_of_its_memory_only) {
    written_at(a);
    queue(1, {0, 10}, a, false);
    queue(2, {5, 20}, a, true);
    queue(3, {0, 100}, host, true);
    queue(4, {50, 100}, a, true);
    const std::vector<step> planned = steps({0, 50}, a, access::read);
    ASSERT_EQ(planned.size(), 1u);
    EXPECT_EQ(planned[0].does, kind::wait);
    EXPECT_EQ(planned[0].ticket.number, 2u);
}

TEST_F(plan_of, a_writer_waits_for_readers_too) {
    written_at(a);
    queue(1, all, a, false);
    for (const access what : {access::write, access::read_write}) {
        const std::vector<step> planned = steps(all, a, what);
        ASSERT_EQ(planned.size(), 1u);
        EXPECT_EQ(planned[0].does, kind::wait);
    }
    EXPECT_TRUE(steps(all, a, access::read).empty());
}

// The program may write through a handle at once.
TEST_F(plan_of, a_handle_that_is_given_out_waits_for_readers_too) {
    written_at(a);
    queue(1, all, a, false);
    queued_works works;
    works.add(queued.front());
    const std::vector<step> planned = plan(known, memories, works, {.part = all, .where = a, .handed_out = true});
    ASSERT_EQ(planned.size(), 1u);
    EXPECT_EQ(planned[0].does, kind::wait);
}

TEST_F(plan_of, work_on_shared_memory_is_waited_for_by_all_who_share_it) {
    written_at(b);
    queue(1, all, b, true);
    const std::vector<step> planned = steps(all, host, access::read);
    ASSERT_EQ(planned.size(), 2u);
    EXPECT_EQ(planned[0].does, kind::wait);
    EXPECT_EQ(planned[1].does, kind::publish);
}

TEST_F(plan_of, a_move_waits_for_both_of_its_ends) {
    written_at(a);
    queue(1, all, a, true);
    queue(2, all, host, false);
    const std::vector<step> planned = steps(all, host, access::read);
    ASSERT_GE(planned.size(), 3u);
    EXPECT_EQ(planned[0].does, kind::wait);
    EXPECT_EQ(planned[1].does, kind::wait);
    EXPECT_NE(planned[0].ticket, planned[1].ticket);
    EXPECT_EQ(planned.back().does, kind::move);
}

TEST_F(plan_of, a_move_waits_for_those_who_still_read_what_it_overwrites) {
    written_at(host);
    queue(1, all, a, false);
    EXPECT_EQ(steps(all, a, access::read),
              (std::vector<step>{{.does = kind::wait, .part = all, .from = a, .ticket = {1}},
                                 {.does = kind::move, .part = all, .from = host, .to = a}}));
}

TEST_F(plan_of, pieces_that_wait_for_the_same_work_wait_once) {
    written_at(a);
    wrote(known, {10, 20}, host);
    queue(1, all, a, true);
    const std::vector<step> planned = steps(all, host, access::read);
    EXPECT_EQ(std::count_if(planned.begin(), planned.end(), [](const step& s) { return s.does == kind::wait; }), 1);
}

// A copy is dropped.

TEST_F(plan_of, the_last_current_copy_is_found) {
    written_at(a);
    complete(known, memories, {.does = kind::move, .part = {0, 50}, .from = a, .to = host});
    EXPECT_EQ(only_at(known, all, a), (byte_range{50, 100}));
    EXPECT_TRUE(only_at(known, {0, 50}, a).empty());
}

TEST_F(plan_of, a_host_copy_with_pointers_out_may_become_the_only_newest) {
    written_at(host);
    complete(known, memories, {.does = kind::move, .part = all, .from = host, .to = a});
    EXPECT_TRUE(only_at(known, all, host).empty());
    expose(known, byte_range{20, 30}, pointers::watched);
    EXPECT_EQ(only_at(known, all, host), (byte_range{20, 30}));
    expose(known, byte_range{20, 30}, pointers::none);
    EXPECT_TRUE(only_at(known, all, host).empty());
}

TEST_F(plan_of, what_is_assumed_is_written_and_what_is_watched_is_not) {
    written_at(host);
    complete(known, memories, {.does = kind::move, .part = all, .from = host, .to = a});
    expose(known, byte_range{20, 30}, pointers::assumed);
    expose(known, byte_range{50, 60}, pointers::watched);
    assume_host_writes(known, all);
    EXPECT_EQ(steps(all, a, access::read),
              (std::vector<step>{{.does = kind::move, .part = {20, 30}, .from = host, .to = a}}));
}

TEST_F(plan_of, watching_that_ends_is_about_bytes_with_pointers_alone) {
    written_at(host);
    complete(known, memories, {.does = kind::move, .part = all, .from = host, .to = a});
    expose(known, byte_range{20, 30}, pointers::watched);
    stop_watching(known, all);
    EXPECT_EQ(known.where(all, &knowledge::exposed), byte_ranges(byte_range{20, 30}));
    EXPECT_EQ(known.where(all, &knowledge::taken_for_written), byte_ranges(byte_range{20, 30}));
}

TEST_F(plan_of, two_newest_versions_stay_until_it_is_said_which_stands) {
    const auto contest = [&] {
        wrote(known, all, host);
        expose(known, all, pointers::watched);
        wrote(known, {20, 60}, a);
        found_host_writes(known, byte_range{10, 30});
        EXPECT_EQ(contested_in(known, all), (byte_range{20, 30}));
    };
    contest();
    settle_without(known, all, a);  // the host stands
    EXPECT_TRUE(contested_in(known, all).empty());
    EXPECT_EQ(steps(all, host, access::read).back(),
              (step{.does = kind::move, .part = {30, 60}, .from = a, .to = host}));
    contest();
    settle_without(known, all, host);  // the device stands
    EXPECT_TRUE(contested_in(known, all).empty());
    EXPECT_EQ(steps(all, host, access::read).back(),
              (step{.does = kind::move, .part = {20, 60}, .from = a, .to = host}));
    contest();
    wrote(known, all, host);
    EXPECT_TRUE(contested_in(known, all).empty());
}

}  // namespace
}  // namespace unibuf::coherence::plan_test
