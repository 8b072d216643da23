// tests/unit/batch_test.cpp: writes and syncs that are made together.
#include "unibuf/batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "support/fake_device.hpp"
#include "support/faults.hpp"
#include "unibuf/unibuf.hpp"
#include "unit/common.hpp"

namespace unibuf::test::batch_test {
namespace {

using bytes = std::vector<std::byte>;

constexpr std::size_t size = 64;

bytes of(int value, std::size_t count = size) { return bytes(count, static_cast<std::byte>(value)); }

template <class Call>
std::optional<error_code> code_of(Call call) {
    try {
        call();
    } catch (const error& thrown) {
        return thrown.code();
    }
    return std::nullopt;
}

class a_batch : public testing::Test {
protected:
    ~a_batch() override {
        faults::all().disarm();
        set_default_device(before_);
    }

    /// Returns a buffer with copies at the host and the device.
    buffer& mirrored(int value) {
        buffer& made = all_.emplace_back(size);
        made.copy_from(of(value));
        made.read(device).release();
        return made;
    }

    static bytes at_host(const buffer& what) {
        const auto read = what.read(host);
        return bytes(read.begin(), read.end());
    }
    bytes at_device(const buffer& what) { return seen_now(what.read(device).native()); }

    fake_device& fake_ = fake_device::get({});
    space device = fake_.where();
    space before_ = default_device();
    std::deque<buffer> all_;
    batch tried_{device};
};

TEST_F(a_batch, writes_at_the_host_at_once_and_moves_when_it_is_submitted) {
    buffer& used = mirrored(1);
    tried_.write(used, of(2));
    EXPECT_EQ(at_host(used), of(2));
    EXPECT_EQ(used.state(), buffer_state::host_dirty);
    tried_.submit();
    EXPECT_EQ(used.state(), buffer_state::synchronized);
    EXPECT_EQ(at_device(used), of(2));
    EXPECT_EQ(tried_.size(), 0U);
}

TEST_F(a_batch, moves_overlapping_writes_once_and_the_last_one_wins) {
    buffer& used = mirrored(1);
    const std::uint64_t before = used.statistics().bytes_moved();
    tried_.write(used, of(2, 16), 0);
    tried_.write(used, of(3, 16), 8);
    tried_.write(used, of(4, 4), 2);
    tried_.submit();
    EXPECT_EQ(used.statistics().bytes_moved() - before, 24U);
    bytes expected = of(1);
    std::ranges::copy(of(2, 8), expected.begin());
    std::ranges::copy(of(3, 16), expected.begin() + 8);
    std::ranges::copy(of(4, 4), expected.begin() + 2);
    EXPECT_EQ(at_device(used), expected);
}

TEST_F(a_batch, counts_each_transfer_as_a_sync) {
    buffer& used = mirrored(1);
    tried_.write(used, of(2));
    tried_.submit();
    const auto counts = used.statistics().transfers;
    const auto synced = std::ranges::find(counts, cause::sync, &transfer_count::why);
    ASSERT_NE(synced, counts.end());
    EXPECT_EQ(synced->to, device);
    EXPECT_EQ(synced->bytes, size);
}

TEST_F(a_batch, brings_to_the_host_what_devices_have) {
    tried_.submit();
    batch home(host);
    buffer& first = mirrored(1);
    buffer& second = mirrored(2);
    kernel_write(first.write(device).native(), 0, of(3));
    kernel_write(second.write(device, {.offset = 8, .count = 8}).native(), 0, of(4, 8));
    home.sync(first);
    home.sync(second);
    home.submit();
    EXPECT_EQ(first.state(), buffer_state::synchronized);
    EXPECT_EQ(second.state(), buffer_state::synchronized);
    EXPECT_EQ(at_host(first), of(3));
    EXPECT_EQ(at_host(second)[8], std::byte{4});
    EXPECT_EQ(at_host(second)[7], std::byte{2});
}

TEST_F(a_batch, syncs_what_has_no_copy_there_yet) {
    buffer made(size);
    made.copy_from(of(5));
    tried_.sync(made);
    tried_.submit();
    EXPECT_EQ(made.state(), buffer_state::synchronized);
    EXPECT_EQ(at_device(made), of(5));
}

TEST_F(a_batch, finds_what_was_written_through_pointers) {
    buffer& used = mirrored(1);
    std::byte* const pointer = used.host();
    used.read(device).release();
    pointer[5] = std::byte{9};
    tried_.sync(used);
    tried_.submit();
    EXPECT_EQ(at_device(used)[5], std::byte{9});
}

TEST_F(a_batch, keeps_its_buffers_until_it_is_submitted) {
    std::optional<buffer> used(std::in_place, size);
    used->copy_from(of(1));
    used->read(device).release();
    const std::size_t alive = fake_.counts.memories;
    tried_.write(*used, of(2));
    used.reset();
    EXPECT_EQ(fake_.counts.memories, alive);
    tried_.submit();
    EXPECT_EQ(fake_.counts.memories, alive - 1);
}

TEST_F(a_batch, waits_for_leases_of_other_threads_and_for_no_claim_of_its_own) {
    buffer& free = mirrored(1);
    buffer& leased = mirrored(2);
    tried_.write(free, of(3));
    tried_.write(leased, of(4));
    std::jthread other;
    {
        std::atomic<bool> taken = false;
        other = std::jthread([&] {
            const auto held = leased.write(host);
            taken = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            free.read(host).release();  // nothing of the batch is claimed while it waits
            std::ranges::fill(held, std::byte{5});
        });
        while (!taken) std::this_thread::yield();
    }
    tried_.submit();
    EXPECT_EQ(at_device(free), of(3));
    EXPECT_EQ(at_device(leased), of(5));
}

TEST_F(a_batch, is_refused_what_its_own_thread_has_leased_and_does_the_rest) {
    buffer& free = mirrored(1);
    buffer& leased = mirrored(2);
    tried_.write(free, of(3));
    tried_.write(leased, of(4));
    {
        const auto held = leased.write(host);
        EXPECT_EQ(code_of([&] { tried_.submit(); }), error_code::access_conflict);
        EXPECT_EQ(free.state(), buffer_state::synchronized);
    }
    tried_.submit();
    EXPECT_EQ(leased.state(), buffer_state::synchronized);
}

TEST_F(a_batch, loses_nothing_where_transfers_fail) {
    for (unsigned n = 1; n != 5; ++n) {
        buffer& first = mirrored(1);
        buffer& second = mirrored(2);
        tried_.write(first, of(3));
        tried_.write(second, of(4));
        faults::all().arm(n, error_code::transfer_failed, true);
        const bool failed = n <= 2;
        EXPECT_EQ(code_of([&] { tried_.submit(); }).has_value(), failed) << n;
        faults::all().disarm();
        tried_.submit();
        EXPECT_EQ(at_device(first), of(3)) << n;
        EXPECT_EQ(at_device(second), of(4)) << n;
        EXPECT_EQ(at_host(first), of(3)) << n;
    }
}

/// submit() throws the first failure and does the rest: a range that was to move in one call with a failed one is
/// synced alone.
TEST_F(a_batch, syncs_alone_what_moved_in_vain_with_others) {
    buffer& first = mirrored(1);
    buffer& second = mirrored(2);
    tried_.write(first, of(3));
    tried_.write(second, of(4));
    faults::all().arm(1, error_code::transfer_failed, false);
    EXPECT_EQ(code_of([&] { tried_.submit(); }), error_code::transfer_failed);
    EXPECT_EQ(first.state(), buffer_state::synchronized);
    EXPECT_EQ(second.state(), buffer_state::synchronized);
    tried_.submit();
    EXPECT_EQ(at_device(first), of(3));
    EXPECT_EQ(at_device(second), of(4));
}

TEST_F(a_batch, moves_parts_that_touch_as_one_in_whichever_order_they_came) {
    buffer& first = mirrored(1);
    buffer& second = mirrored(2);
    tried_.write(first, of(3, size / 2), size / 2);
    tried_.write(second, of(4));
    tried_.write(first, of(5, size / 2));
    const std::uint64_t before = first.statistics().transfers_made();
    tried_.submit();
    EXPECT_EQ(first.statistics().transfers_made(), before + 1);
    EXPECT_EQ(first.state(), buffer_state::synchronized);
    bytes expected = of(5, size / 2);
    expected.resize(size, std::byte{3});
    EXPECT_EQ(at_device(first), expected);
}

TEST_F(a_batch, makes_zero_at_once_what_nobody_has_written) {
    buffer& used = mirrored(1);
    used.discard_content();
    tried_.sync(used);
    const std::size_t fills = fake_.counts.fills;
    tried_.submit();
    EXPECT_EQ(fake_.counts.fills, fills + 1);
    EXPECT_EQ(at_device(used), of(0));
}

TEST(a_batch_that_is_under_way, keeps_others_off_its_ranges_and_no_byte_between_them) {
    fake_device& queued = fake_device::get({.asynchronous = true});
    buffer used(size);
    used.copy_from(of(1));
    used.read(queued.where()).release();
    batch tried(queued.where());
    tried.write(used, of(2, 8), 0);
    tried.write(used, of(3, 8), 32);
    unsigned tasks = 0;
    queued.queued().add(
        {.run =
             [&](std::size_t) {
                 ++tasks;
                 std::jthread([&] {
                     using namespace std::chrono_literals;
                     const auto at = [&](std::size_t offset, std::size_t count) {
                         return code_of([&] { used.write(host, {.offset = offset, .count = count, .timeout = 0ms}); });
                     };
                     EXPECT_EQ(at(8, 24), std::nullopt);
                     EXPECT_EQ(at(40, 24), std::nullopt);
                     EXPECT_EQ(at(7, 1), error_code::timeout);
                     EXPECT_EQ(at(32, 1), error_code::timeout);
                 }).join();
             },
         .bytes = 1});
    tried.submit();
    EXPECT_EQ(tasks, 1U);
    bytes expected = of(1);
    std::ranges::copy(of(2, 8), expected.begin());
    std::ranges::copy(of(3, 8), expected.begin() + 32);
    EXPECT_EQ(kernel_read(used.read(queued.where()).native()), expected);
    used.write(host, {.timeout = std::chrono::seconds(10)}).release();  // nothing is claimed any more
}

TEST_F(a_batch, claims_nothing_any_more_where_the_host_has_no_memory_left) {
    buffer& first = mirrored(1);
    buffer& second = mirrored(2);
    tried_.write(first, of(3));
    tried_.write(second, of(4));
    faults::all().arm_out_of_host_memory(2);
    EXPECT_THROW(tried_.submit(), std::bad_alloc);
    faults::all().disarm();
    for (const buffer* const each : {&first, &second}) {
        EXPECT_TRUE(std::ranges::equal(each->read(host), of(each == &first ? 3 : 4)));
    }
    EXPECT_EQ(at_device(first), of(3));
    EXPECT_EQ(at_device(second), of(4));
}

TEST_F(a_batch, whose_write_throws_for_lack_of_memory_has_written_nothing) {
    buffer& used = mirrored(1);
    bool is_written = false;
    for (unsigned call = 1; !is_written; ++call) {
        batch fresh(device);
        faults::all().arm_out_of_host_memory(call);
        try {
            fresh.write(used, of(2));
            is_written = true;
        } catch (const std::bad_alloc&) {  // the content is looked at below
        }
        faults::all().disarm();
        ASSERT_EQ(content(used), of(is_written ? 2 : 1)) << call;
    }
}

TEST_F(a_batch, refuses_what_has_no_copy_at_all) {
    const buffer fresh(size);
    EXPECT_EQ(code_of([&] { tried_.sync(fresh); }), error_code::not_allocated);
}

TEST_F(a_batch, that_goes_submits_what_is_left_also_where_a_transfer_fails) {
    buffer& used = mirrored(1);
    {
        batch going(device);
        going.write(used, of(2));
    }
    EXPECT_EQ(used.state(), buffer_state::synchronized);
    {
        batch failing(device);
        failing.write(used, of(3));
        faults::all().arm(1, error_code::transfer_failed);
    }
    EXPECT_EQ(at_device(used), of(3));
}

TEST_F(a_batch, collects_what_its_thread_syncs_while_a_scope_lasts) {
    set_default_device(device);
    buffer& first = mirrored(1);
    buffer& second = mirrored(2);
    {
        const batch::scope collecting(tried_);
        first.copy_from(of(3));
        first.sync_to_device();
        second.copy_from(of(4));
        second.prefetch(device);
        EXPECT_EQ(tried_.size(), 2U);
        EXPECT_EQ(first.state(), buffer_state::host_dirty);
        std::jthread([&] { second.sync_to_device(); }).join();
        EXPECT_EQ(second.state(), buffer_state::synchronized) << "of another thread";
        EXPECT_EQ(code_of([] { buffer(size).sync_to_device(); }), error_code::not_allocated);
        const space other("debug:0");
        first.prefetch(other);
        const std::vector<transfer_count> made = first.statistics().transfers;
        EXPECT_TRUE(std::ranges::any_of(made, [&](const transfer_count& each) { return each.to == other; }))
            << "it is for another device";
    }
    tried_.submit();
    EXPECT_EQ(first.state(), buffer_state::synchronized);
    first.copy_from(of(5));
    first.sync_to_device();
    EXPECT_EQ(first.state(), buffer_state::synchronized) << "after the scope";
}

TEST_F(a_batch, refuses_what_does_not_fit) {
    buffer& used = mirrored(1);
    EXPECT_EQ(code_of([&] { tried_.write(used, of(2), 1); }), error_code::out_of_range);
    EXPECT_EQ(tried_.size(), 0U);
    EXPECT_EQ(at_host(used), of(1));
}

TEST(batches, of_many_threads_leave_every_buffer_with_its_last_write) {
    const space debug("debug:0");
    std::deque<buffer> all;
    for (int i = 0; i != 32; ++i) {
        all.emplace_back(size).copy_from(of(0));
        all.back().read(debug).release();
    }
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t != 64; ++t) {
            threads.emplace_back([&, t] {
                batch own(debug);
                for (std::size_t i = 0; i != all.size(); ++i) {
                    buffer& each = all[(i * 7 + static_cast<std::size_t>(t)) % all.size()];
                    own.write(each, of(t, 1), static_cast<std::size_t>(t));
                }
                own.submit();
            });
        }
    }
    bytes expected(size);
    for (int t = 0; t != 64; ++t) expected[static_cast<std::size_t>(t)] = static_cast<std::byte>(t);
    for (const buffer& each : all) {
        EXPECT_EQ(each.state(), buffer_state::synchronized);
        EXPECT_TRUE(std::ranges::equal(each.read(debug), expected));
    }
}

TEST(batches, wait_in_no_circle_with_leases_by_hand_in_the_other_order) {
    const space debug("debug:0");
    buffer first(size);
    buffer second(size);
    for (buffer* const each : {&first, &second}) {
        each->copy_from(of(0));
        each->read(debug).release();
    }
    constexpr int rounds = 300;
    const auto count_up = [](buffer& what) {
        const auto counted = what.read_write(unibuf::host);
        counted[0] = static_cast<std::byte>(std::to_integer<int>(counted[0]) + 1);
    };
    {
        std::vector<std::jthread> threads;
        threads.emplace_back([&] {
            for (int round = 0; round != rounds; ++round) {
                const auto held = second.read_write(unibuf::host);
                count_up(first);
                held[1] = static_cast<std::byte>(std::to_integer<int>(held[1]) + 1);
            }
        });
        threads.emplace_back([&] {
            for (int round = 0; round != rounds; ++round) {
                batch both(debug);
                both.write(first, of(round, 1), 2);
                both.write(second, of(round, 1), 2);
                both.submit();
            }
        });
    }
    const auto last = static_cast<std::byte>(rounds % 256);
    EXPECT_EQ(first.read(unibuf::host)[0], last);
    EXPECT_EQ(second.read(unibuf::host)[1], last);
    for (buffer* const each : {&first, &second}) {
        EXPECT_EQ(each->read(unibuf::host)[2], static_cast<std::byte>((rounds - 1) % 256));
        EXPECT_TRUE(std::ranges::equal(each->read(debug), each->read(unibuf::host)));
    }
}

TEST(batches, that_have_room_for_one_of_them_both_end) {
    const space device("debug:0");
    constexpr std::size_t large = 65536;
    std::deque<buffer> all;
    for (int i = 0; i != 6; ++i) all.emplace_back(large).copy_from(of(0, large));
    limit_memory(device, 4 * large);
    constexpr int rounds = 50;
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t != 2; ++t) {
            threads.emplace_back([&, t] {
                for (int round = 1; round <= rounds; ++round) {
                    batch mine(device);
                    for (std::size_t i = 3; i-- != 0;) mine.write(all[3 * t + i], of(round, 1), i);
                    mine.submit();
                }
            });
        }
    }
    limit_memory(device, no_memory_limit);
    for (std::size_t i = 0; i != all.size(); ++i) {
        bytes expected(large);
        expected[i % 3] = static_cast<std::byte>(rounds);
        EXPECT_TRUE(std::ranges::equal(all[i].read(unibuf::host), expected));
        EXPECT_TRUE(std::ranges::equal(all[i].read(device), expected));
    }
}

}  // namespace
}  // namespace unibuf::test::batch_test
