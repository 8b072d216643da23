// tests/unit/transfer_costs_test.cpp: which gaps are carried, by what transfers cost.
#include "memory/transfer_costs.hpp"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "backends/spaces.hpp"
#include "support/fake_device.hpp"
#include "unit/common.hpp"

namespace unibuf::test::transfer_costs_test {
namespace {

using namespace std::chrono_literals;
using ranges = std::vector<byte_range>;

const ranges parts{{0, 10}, {20, 30}, {31, 40}, {40, 45}};

TEST(transfer_costs, join_parts_that_are_as_near_as_the_gap) {
    const auto always = [](byte_range) { return true; };
    EXPECT_EQ(detail::joined(parts, 0, always), (ranges{{0, 10}, {20, 30}, {31, 45}}));
    EXPECT_EQ(detail::joined(parts, 1, always), (ranges{{0, 10}, {20, 45}}));
    EXPECT_EQ(detail::joined(parts, 9, always), (ranges{{0, 10}, {20, 45}}));
    EXPECT_EQ(detail::joined(parts, 10, always), (ranges{{0, 45}}));
    EXPECT_EQ(detail::joined({}, 10, always), ranges{});
}

TEST(transfer_costs, join_no_parts_with_bytes_between_that_may_not_move) {
    ranges asked;
    const auto never = [&](byte_range between) {
        asked.push_back(between);
        return false;
    };
    EXPECT_EQ(detail::joined(parts, 5, never), parts);
    EXPECT_EQ(asked, (ranges{{30, 31}, {40, 40}})) << "what is too far is not asked about";
}

TEST(transfer_costs, are_nothing_at_a_device_that_queues_no_work) {
    auto made = std::make_unique<fake_device>(fake_traits{});
    fake_device& device = *made;
    const transfer_cost found = transfer_cost_of(backends::add_space("unmeasured", std::move(made)));
    EXPECT_EQ(found.each, 0ns);
    EXPECT_EQ(found.bytes_per_second, 0);
    EXPECT_EQ(device.counts.writes, 0U);
}

TEST(transfer_costs, are_not_negative) {
    const space device("debug:0");
    const transfer_cost before = transfer_cost_of(device);
    for (const transfer_cost& wrong :
         {transfer_cost{.each = -1ns, .bytes_per_second = 1}, transfer_cost{.each = 1ns, .bytes_per_second = -1},
          transfer_cost{.bytes_per_second = std::numeric_limits<double>::quiet_NaN()}}) {
        const failure found = failure_of([&] { set_transfer_cost(device, wrong); });
        EXPECT_EQ(found.code, error_code::invalid_argument);
        EXPECT_EQ(transfer_cost_of(device).each, before.each);
    }
}

TEST(transfer_costs, make_a_gap_worth_what_goes_in_the_time_of_a_transfer) {
    fake_device& device = fake_device::get({.asynchronous = true});
    const auto gap = [&](transfer_cost cost) {
        set_transfer_cost(device.where(), cost);
        EXPECT_EQ(transfer_cost_of(device.where()).each, cost.each);
        return detail::worthwhile_gap(device.where().id());
    };
    EXPECT_EQ(gap({.each = 1ms, .bytes_per_second = 3e6}), 3000U);
    EXPECT_EQ(gap({.each = 1s, .bytes_per_second = 1e12}), detail::widest_gap);
    EXPECT_EQ(gap({}), 0U);
}

/// Between the rows of a rectangle others may write while it moves: what lies there is not carried along.
TEST(transfer_costs, make_no_gap_worth_what_lies_between_rows) {
    fake_device& later = fake_device::get({.asynchronous = true}, 1);
    set_transfer_cost(later.where(), {.each = 1s, .bytes_per_second = 1e12});
    constexpr std::size_t row = 100;
    constexpr std::size_t rows = 20;
    for (const std::size_t size : {rows * row, std::size_t{64} << 10}) {
        buffer b(size);
        put(b, of(size, 1));
        std::byte* const pointer = b.host();
        static_cast<void>(b.read(later.where()));
        for (std::size_t i = 2; i < 6; ++i) std::fill_n(pointer + i * row, 30, std::byte{2});  // of the first column
        const access_options between{.offset = 3 * row + 50, .count = 10};
        later.queued().add({.run = [&](std::size_t) {
            const auto lease = b.write(later.where(), between);
            memory_of(lease.native()).put(between.offset, of(10, 7));
        }});
        const slice first_column[]{{0, rows}, {0, 30}};
        static_cast<void>(b.view(0, rows * row).view(shape{rows, row}, 1, first_column).read(later.where()));
        const std::vector<std::byte> there = kernel_read(b.read(later.where()).native());
        EXPECT_EQ(part(there, between.offset, 10), of(10, 7)) << size;
        EXPECT_EQ(there[2 * row], std::byte{2}) << size;
        EXPECT_EQ(content(b), there) << size;
    }
    set_transfer_cost(later.where(), {});
}

// What is measured is another matter: that is time.
TEST(transfer_costs, are_measured_by_one_part_by_many_and_by_a_long_one) {
    constexpr std::size_t small = 4096, large = 1 << 20, many = 17, tries = 8;
    auto made = std::make_unique<fake_device>(fake_traits{.asynchronous = true});
    fake_device& device = *made;
    const space where = backends::add_space("measured", std::move(made));
    const transfer_cost found = transfer_cost_of(where);
    EXPECT_EQ(device.counts.writes, tries * (1 + many + 1));
    EXPECT_EQ(device.counts.bytes_moved, tries * (small + many * small + large));
    EXPECT_EQ(device.counts.memories, 0U);
    EXPECT_EQ(device.misuse, std::vector<std::string>{});
    EXPECT_GE(found.each, 0ns);
    EXPECT_GT(found.bytes_per_second, 0);
    EXPECT_EQ(transfer_cost_of(where).each, found.each);
    EXPECT_EQ(device.counts.writes, tries * (1 + many + 1)) << "once";
}

}  // namespace
}  // namespace unibuf::test::transfer_costs_test
