// tests/fault/queued_fault_test.cpp: work that fails after the call that queued it has returned.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/fake_device.hpp"
#include "support/faults.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/error.hpp"
#include "unibuf/memory_pool.hpp"

namespace unibuf::test::queued_fault_test {
namespace {

using bytes = std::vector<std::byte>;

constexpr std::size_t size = 32;

bytes of(int value) { return bytes(size, static_cast<std::byte>(value)); }

class queued_fault : public testing::Test {
protected:
    ~queued_fault() override {
        faults::all().disarm();
        device_.failures.clear();
    }

    fake_device& device_ = fake_device::get({.asynchronous = true});
    space where_ = device_.where();
    buffer tried_{size};
    int any_ = 0;
    queue on_{&any_};
};

TEST_F(queued_fault, of_a_prefetch_is_told_to_the_next_access_there) {
    tried_.copy_from(of(1));
    tried_.prefetch(where_);
    faults::all().arm(1, error_code::transfer_failed, true);
    EXPECT_THROW(tried_.read(where_), error);
    EXPECT_EQ(seen_now(tried_.read(where_).native()), of(1));
    EXPECT_TRUE(std::ranges::equal(tried_.read(host), of(1)));
}

TEST_F(queued_fault, of_a_prefetch_spares_what_was_marked_since) {
    tried_.copy_from(of(1));
    tried_.prefetch(where_);
    tried_.mark_dirty(where_, 0, 8);
    faults::all().arm(1, error_code::transfer_failed);
    EXPECT_THROW(tried_.read(where_, {.offset = 8}), error);
    EXPECT_EQ(seen_now(tried_.read(where_, {.offset = 8}).native()), bytes(size - 8, std::byte{1}));
    EXPECT_THROW(tried_.discard(where_), error) << "the first 8 bytes are nowhere else";
}

TEST_F(queued_fault, of_a_prefetch_is_told_once) {
    tried_.copy_from(of(1));
    tried_.prefetch(where_);
    faults::all().arm(1, error_code::device_lost);
    EXPECT_THROW(tried_.copy_from(of(2)), error);
    tried_.copy_from(of(2));
    EXPECT_EQ(seen_now(tried_.read(where_).native()), of(2));
}

TEST_F(queued_fault, of_a_prefetch_is_nothing_to_who_gets_the_buffer_of_a_pool_next) {
    memory_pool pool;
    for (const space next_use : {host, where_}) {
        buffer before = pool.acquire(size);
        const std::uint64_t id = before.id();
        before.copy_from(of(1));
        before.prefetch(where_);
        pool.release(std::move(before));
        buffer next = pool.acquire(size);
        ASSERT_EQ(next.id(), id);
        faults::all().arm(1, error_code::transfer_failed, true);
        const unsigned fired = faults::all().fired();
        if (next_use == host) {
            next.copy_from(of(2));
        } else {
            kernel_write(next.write(where_, {.on = on_}).native(), 0, of(2));
        }
        EXPECT_EQ(seen_now(next.read(where_).native()), of(2)) << next_use.name();
        EXPECT_TRUE(std::ranges::equal(next.read(host), of(2))) << next_use.name();
        EXPECT_EQ(faults::all().fired(), fired + 1) << next_use.name();
        pool.release(std::move(next));
    }
}

TEST_F(queued_fault, of_a_record_is_healed_by_recording_again) {
    {
        const auto written = tried_.write(where_, {.on = on_});
        kernel_write(written.native(), 0, of(3));
        faults::all().arm(1, error_code::out_of_memory);
    }
    EXPECT_EQ(seen_now(tried_.read(where_).native()), of(3));
    EXPECT_TRUE(std::ranges::equal(tried_.read(host), of(3)));
}

TEST_F(queued_fault, of_a_publication_is_told_and_made_again) {
    fake_device& aliasing = fake_device::get({.aliases = true, .asynchronous = true});
    tried_.copy_from(of(1));
    tried_.prefetch(aliasing.where());
    faults::all().arm(1, error_code::transfer_failed);
    EXPECT_THROW(tried_.read(aliasing.where()), error);
    EXPECT_EQ(seen_now(tried_.read(aliasing.where()).native()), of(1));
    aliasing.failures.clear();
}

TEST_F(queued_fault, of_a_fill_stays_told_where_it_came_half_the_way_to_another) {
    fake_device& visible = fake_device::get({.visible = true, .asynchronous = true});
    const space aliasing = fake_device::get({.aliases = true}).where();
    tried_.write(visible.where()).release();
    tried_.read(aliasing).release();
    tried_.write(visible.where()).release();
    tried_.fill(bytes(1));
    faults::all().arm(1, error_code::transfer_failed);
    EXPECT_THROW(tried_.read(visible.where()), error);
    faults::all().arm(3, error_code::transfer_failed);  // the second of the two publications
    EXPECT_THROW(tried_.write(aliasing), error);
    for (const space where : {host, visible.where(), aliasing}) EXPECT_THROW(tried_.read(where), error);
    tried_.copy_from(of(2));
    EXPECT_EQ(seen_now(tried_.read(aliasing).native()), of(2));
    visible.failures.clear();
}

TEST_F(queued_fault, of_a_fill_is_told_where_a_standing_hold_that_reads_is_resumed) {
    int told_to_go_on = 0;
    const auto writes = tried_.bind(where_, access::read_write);
    auto reads = tried_.bind(where_, access::read,
                             {.opens = reopening::told, .pause = [] {}, .resume = [&] { ++told_to_go_on; }});
    reads.pause();
    tried_.fill(bytes(1));
    faults::all().arm(2, error_code::transfer_failed);  // the first call is healed
    EXPECT_THROW(tried_.read(host), error);
    EXPECT_THROW(reads.resume(), error) << "its bytes are lost";
    EXPECT_EQ(told_to_go_on, 0);
    EXPECT_THROW(tried_.copy_from(of(2)), error) << "the writer could not have its bytes again, either";
    tried_.copy_from(of(2));
    reads.resume();
    EXPECT_EQ(told_to_go_on, 1);
    EXPECT_EQ(seen_now(reads.native()), of(2));
}

// Found by histories, and not failures of a device.

TEST_F(queued_fault, or_not_a_publication_is_waited_for_by_readers) {
    fake_device& aliasing = fake_device::get({.aliases = true, .asynchronous = true});
    tried_.copy_from(of(1));
    tried_.prefetch(aliasing.where());
    EXPECT_EQ(seen_now(tried_.read(aliasing.where()).native()), of(1));
}

TEST_F(queued_fault, or_not_a_transfer_that_the_source_makes_is_no_work_of_the_target) {
    const space addressable = fake_device::get({.addressable = true}).where();
    kernel_write(tried_.write(where_).native(), 0, of(4));
    EXPECT_EQ(seen_now(tried_.read(addressable, {.on = on_}).native()), of(4));
}

TEST_F(queued_fault, or_not_poison_spares_what_a_transfer_still_reads) {
    tried_.read(fake_device::get({.addressable = true, .poisons = true}).where()).release();
    tried_.copy_from(of(5));
    const auto there = tried_.read_write(where_, {.on = on_});
    EXPECT_EQ(kernel_read(there.native()), of(5));
}

TEST_F(queued_fault, or_not_poisoned_memory_is_no_longer_zero) {
    const space zeroed = fake_device::get({.addressable = true, .starts_zero = true}).where();
    tried_.read(fake_device::get({.addressable = true, .poisons = true}).where()).release();
    tried_.read(zeroed).release();
    tried_.copy_from(of(6));
    tried_.discard_content();
    EXPECT_EQ(seen_now(tried_.read(zeroed).native()), of(0));
}

}  // namespace
}  // namespace unibuf::test::queued_fault_test
