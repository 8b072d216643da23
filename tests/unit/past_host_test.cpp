// tests/unit/past_host_test.cpp: copies between the program's memory and a device, past the host's copy.
#include <algorithm>
#include <vector>

#include "support/fake_device.hpp"
#include "support/faults.hpp"
#include "unibuf/guard.hpp"
#include "unibuf/trace.hpp"
#include "unit/common.hpp"

namespace unibuf::test::past_host_test {
namespace {

constexpr std::size_t size = 64;

/// Returns the bytes that a buffer has moved from one space to another.
std::uint64_t moved(const buffer& of, space from, space to) {
    std::uint64_t result = 0;
    for (const transfer_count& each : of.statistics().transfers) {
        if (each.from == from && each.to == to) result += each.bytes;
    }
    return result;
}

class past_host : public testing::Test {
protected:
    ~past_host() override {
        faults::all().disarm();
        device_.failures.clear();
    }

    bytes at_device() const { return seen_now(tried_.read(there_).native()); }

    fake_device& device_ = fake_device::get({});
    space there_ = device_.where();
    buffer tried_{size};
};

TEST_F(past_host, bytes_are_copied_out_and_no_copy_is_made_at_the_host) {
    kernel_write(tried_.write(there_).native(), 0, of(size, 3));
    EXPECT_EQ(tried_.current_at(), there_);
    bytes got(16);
    tried_.copy_to(got, there_, 8);
    EXPECT_EQ(got, of(16, 3));
    EXPECT_FALSE(has_copy(tried_, host));
    EXPECT_EQ(moved(tried_, there_, host), 16u);
    EXPECT_EQ(tried_.current_at(), there_);
}

TEST_F(past_host, a_value_of_a_part_comes_to_the_host_when_it_is_asked_for_again) {
    const auto write_all = [&](unsigned char value) {
        kernel_write(tried_.write(there_).native(), 0, of(size, value));
    };
    bytes got(16);
    write_all(3);
    for (std::size_t offset = 0; offset != 48; offset += 16) tried_.copy_value_to(got, offset);
    EXPECT_EQ(got, of(16, 3));
    EXPECT_FALSE(has_copy(tried_, host));
    write_all(4);
    tried_.copy_value_to(got, 16);
    EXPECT_EQ(got, of(16, 4));
    EXPECT_FALSE(has_copy(tried_, host)) << "it was written since, though the directory knew nothing new of that";
    tried_.view(16, 16).copy_value_to(got);
    EXPECT_TRUE(tried_.view(16, 16).current_at() == host && tried_.current_at() == there_);
    const std::uint64_t before = moved(tried_, there_, host);
    tried_.copy_value_to(got, 16);
    EXPECT_EQ(moved(tried_, there_, host), before);
    bytes whole(size);
    tried_.copy_value_to(whole);
    EXPECT_EQ(whole, of(size, 4));
    EXPECT_EQ(tried_.current_at(), host);
}

TEST_F(past_host, only_the_last_parts_whose_values_were_taken_are_known) {
    tried_.write(there_).release();
    bytes got(8);
    for (std::size_t round = 0; round != 2; ++round) {
        for (std::size_t offset = 0; offset != 40; offset += 8) tried_.copy_value_to(got, offset);
    }
    EXPECT_FALSE(has_copy(tried_, host)) << "five parts by turns";
}

TEST_F(past_host, a_value_under_a_standing_hold_is_taken_where_its_device_pauses) {
    const standing_hold hold = tried_.bind(there_, access::read_write);
    bytes got(8);
    tried_.copy_value_to(got);
    EXPECT_TRUE(has_copy(tried_, host));
}

TEST_F(past_host, bytes_are_copied_in_and_are_newest_there) {
    tried_.copy_from(of(size, 1));
    tried_.read(there_).release();
    tried_.copy_from(of(16, 2), there_, 8);
    EXPECT_EQ(moved(tried_, host, there_), size + 16u);
    const bytes now = content(tried_);
    EXPECT_EQ(part(now, 0, 8), of(8, 1));
    EXPECT_EQ(part(now, 8, 16), of(16, 2));
    EXPECT_EQ(part(now, 24, size - 24), of(size - 24, 1));
    EXPECT_EQ(moved(tried_, there_, host), 16u) << "the host lacked these alone";
}

TEST_F(past_host, what_is_not_at_the_device_is_brought_there_first) {
    tried_.copy_from(of(size, 5));
    EXPECT_EQ(tried_.current_at(), host);
    bytes got(size);
    tried_.copy_to(got, there_);
    EXPECT_EQ(got, of(size, 5));
    EXPECT_EQ(moved(tried_, host, there_), size);
}

TEST_F(past_host, a_rectangle_moves_its_bytes_alone) {
    unified_buffer<std::uint8_t> square({8, 8});
    kernel_write(square.bytes().write(there_).native(), 0, of(size, 7));
    auto column = square.view(full_extent, slice{2, 4});
    bytes got(16);
    column.bytes().copy_to(got, there_);
    EXPECT_EQ(got, of(16, 7));
    column.bytes().copy_from(of(16, 9), there_);
    EXPECT_EQ(moved(square.bytes(), there_, host), 16u);
    EXPECT_EQ(moved(square.bytes(), host, there_), 16u);
    const bytes all = seen_now(square.bytes().read(there_).native());
    for (std::size_t i = 0; i < size; ++i) {
        EXPECT_EQ(all[i], std::byte{static_cast<unsigned char>(i % 8 == 2 || i % 8 == 3 ? 9 : 7)}) << i;
    }
}

TEST_F(past_host, a_copy_in_that_fails_half_way_leaves_what_others_have) {
    tried_.copy_from(of(size, 1));
    tried_.read(there_).release();
    faults::all().arm(1, error_code::transfer_failed, true);
    const failure told = failure_of([&] { tried_.copy_from(of(size, 2), there_); });
    EXPECT_EQ(told.code, error_code::transfer_failed);
    const std::string asked = "to copy to bytes [0, 64) at " + there_.name() + " was asked for";
    EXPECT_NE(told.message.find(asked), std::string::npos) << told.message;
    EXPECT_EQ(content(tried_), of(size, 1));
    EXPECT_EQ(at_device(), of(size, 1)) << "half of the other content is still there";
}

/// From one buffer to another, within the device.
TEST_F(past_host, a_copy_there_that_fails_half_way_leaves_what_others_have) {
    buffer source(size);
    kernel_write(source.write(there_).native(), 0, of(size, 2));
    tried_.copy_from(of(size, 1));
    tried_.read(there_).release();
    faults::all().arm(2, error_code::transfer_failed, true);  // the write: this device reads the source first
    EXPECT_EQ(failure_of([&] { tried_.copy_from(source); }).code, error_code::transfer_failed);
    EXPECT_EQ(content(tried_), of(size, 1));
    EXPECT_EQ(at_device(), of(size, 1)) << "half of the other content is still there";
}

TEST_F(past_host, a_copy_that_a_lease_of_this_thread_excludes_is_refused) {
    const auto held = tried_.write(there_, {.offset = 0, .count = 8});
    bytes got(size);
    EXPECT_EQ(failure_of([&] { tried_.copy_to(got, there_); }).code, error_code::access_conflict);
    EXPECT_EQ(failure_of([&] { tried_.copy_from(got, there_); }).code, error_code::access_conflict);
    EXPECT_EQ(failure_of([&] { tried_.copy_from(got, there_, 1); }).code, error_code::out_of_range);
}

TEST_F(past_host, work_that_was_queued_is_waited_for) {
    fake_device& later = fake_device::get({.asynchronous = true});
    kernel_write(tried_.write(later.where()).native(), 0, of(size, 4));
    bytes got(size);
    tried_.copy_to(got, later.where());
    EXPECT_EQ(got, of(size, 4));
    tried_.copy_from(of(size, 6), later.where());
    EXPECT_EQ(kernel_read(tried_.read(later.where()).native()), of(size, 6));
}

TEST_F(past_host, at_a_device_that_uses_the_hosts_memory_it_is_the_host_that_copies) {
    const space shared = fake_device::get({.aliases = true}).where();
    tried_.copy_from(of(size, 1), shared);
    bytes got(size);
    tried_.copy_to(got, shared);
    EXPECT_EQ(got, of(size, 1));
    EXPECT_TRUE(tried_.statistics().transfers.empty());
}

TEST_F(past_host, traces_have_it_as_a_transfer_to_a_reader_at_the_host) {
    kernel_write(tried_.write(there_).native(), 0, of(size, 3));
    bytes got(size);
    const auto events = [&] {
        std::vector<event> result = recorded_events();
        std::erase_if(result, [&](const event& each) { return each.buffer != tried_.id(); });
        return result;
    };
    const auto before = static_cast<std::ptrdiff_t>(events().size());
    tried_.copy_to(got, there_);
    std::vector<event> since = events();
    since.erase(since.begin(), since.begin() + before);
    ASSERT_EQ(since.size(), 2u);
    EXPECT_EQ(since[0].kind, event_kind::transfer);
    EXPECT_EQ(since[0].from, there_.id());
    EXPECT_EQ(since[0].to, host.id());
    EXPECT_EQ(since[1].kind, event_kind::access);
    EXPECT_EQ(since[1].to, host.id());
    EXPECT_EQ(since[1].bytes, size);
}

TEST_F(past_host, a_guard_lets_pass_what_the_program_names) {
    tried_.copy_from(of(size, 3));
    bytes got(size);
    const transfer_guard refuses(guard_action::refuse);
    EXPECT_THROW(tried_.read(there_), error);
    tried_.copy_to(got, there_);
    EXPECT_EQ(got, of(size, 3));
}

}  // namespace
}  // namespace unibuf::test::past_host_test
