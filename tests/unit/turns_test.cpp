// tests/unit/turns_test.cpp: a device that borrows the memory of another one, in turns with it.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "coherence/transitions.hpp"
#include "support/fake_device.hpp"
#include "support/faults.hpp"
#include "unit/common.hpp"

namespace unibuf::test::turns_test {
namespace {

constexpr std::size_t size = 1000;

class turns : public ::testing::TestWithParam<bool> {
protected:
    ~turns() override {
        faults::all().disarm();
        for (fake_device* const each : {&lender_, &borrower_}) {
            EXPECT_THAT(each->misuse, ::testing::IsEmpty());
            each->misuse.clear();
        }
    }

    static void write(buffer& to, fake_device& at, std::size_t offset, const bytes& data) {
        const auto lease = to.write(at.where(), {.offset = offset, .count = data.size()});
        kernel_write(lease.native(), 0, data);
    }
    static bytes read(const buffer& from, fake_device& at) {
        const auto lease = from.read(at.where());
        return kernel_read(lease.native());
    }
    static std::uint64_t moved(const buffer& of) { return of.statistics().bytes_moved(); }
    bool takes_turns(const buffer& of) const { return of.placement(borrower_.where()).placement == placement::shared; }

    /// Returns a buffer that was written at the lender, and read by the borrower, whose turn it is.
    buffer borrowed() {
        buffer made(size);
        write(made, lender_, 0, noise(size));
        EXPECT_TRUE(same(read(made, borrower_), noise(size)));
        return made;
    }

    fake_device& lender_ = fake_device::get({.asynchronous = GetParam()});
    fake_device& borrower_ = fake_device::get({.asynchronous = GetParam(), .borrows = true});
};

/// One call asks for both devices, which shows that they are used at the same time.
TEST_P(turns, end_where_leases_at_both_are_taken_together) {
    for (const access at_lender : {access::read, access::write}) {
        buffer b = borrowed();
        bytes expected = noise(size);
        {
            const access_options low{.offset = 0, .count = 500};
            auto [first, second] = lease_together(wanted_lease<std::byte>{{&b, lender_.where(), at_lender, low}},
                                                  b.to_read(borrower_.where(), {.offset = 500}));
            if (at_lender == access::write) {
                kernel_write(first.native(), 0, noise(500, 7));
                std::ranges::copy(noise(500, 7), expected.begin());
            }
        }
        EXPECT_FALSE(takes_turns(b));
        EXPECT_EQ(content(b), expected);
        EXPECT_EQ(read(b, lender_), expected);
        EXPECT_EQ(read(b, borrower_), expected);
    }
}

INSTANTIATE_TEST_SUITE_P(of_devices, turns, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "with_queues" : "without_queues"; });

TEST_P(turns, move_no_byte) {
    buffer b = borrowed();
    write(b, borrower_, 10, noise(20, 2));
    bytes wanted = noise(size);
    std::ranges::copy(noise(20, 2), wanted.begin() + 10);
    EXPECT_TRUE(same(read(b, lender_), wanted));
    write(b, lender_, 100, noise(20, 3));
    std::ranges::copy(noise(20, 3), wanted.begin() + 100);
    EXPECT_TRUE(same(read(b, borrower_), wanted));
    EXPECT_EQ(moved(b), 0u);
    EXPECT_EQ(b.statistics().publications, 3u);
    EXPECT_TRUE(same(content(b), wanted));
    EXPECT_EQ(moved(b), size);
    EXPECT_EQ(memory_in_all().held, 2 * size);
    const placement_info placed = b.placement(borrower_.where());
    EXPECT_EQ(placed.placement, placement::shared);
    EXPECT_THAT(placed.reason, ::testing::HasSubstr(lender_.where().name()));
    EXPECT_EQ(b.placement(lender_.where()).placement, placement::mirrored);
}

TEST_P(turns, take_what_the_host_writes_where_it_is_needed) {
    buffer b = borrowed();
    put(b, noise(30, 2), host, 50);
    bytes wanted = noise(size);
    std::ranges::copy(noise(30, 2), wanted.begin() + 50);
    EXPECT_TRUE(same(read(b, lender_), wanted));
    EXPECT_TRUE(same(read(b, borrower_), wanted));
    EXPECT_EQ(moved(b), 30u);
    b.fill(bytes(1));
    EXPECT_TRUE(same(read(b, lender_), bytes(size)));
    EXPECT_EQ(moved(b), 30u);
}

TEST_P(turns, end_where_a_lease_is_held_at_the_lender) {
    buffer b = borrowed();
    const auto held = b.read(lender_.where(), {.count = 10});
    EXPECT_TRUE(same(read(b, borrower_), noise(size)));
    EXPECT_FALSE(takes_turns(b));
    EXPECT_THAT(b.placement(borrower_.where()).reason, ::testing::HasSubstr("at the same time"));
    EXPECT_TRUE(same(kernel_read(held.native()), part(noise(size), 0, 10)));
    write(b, borrower_, 500, noise(size - 500, 2));
    EXPECT_TRUE(same(part(read(b, lender_), 500, size - 500), noise(size - 500, 2)));
    EXPECT_EQ(memory_in_all().held, 2 * size);
}

TEST_P(turns, end_where_a_lease_is_held_at_the_borrower) {
    buffer b = borrowed();
    {
        const auto held = b.write(borrower_.where(), {.count = 10});
        const auto other = b.read(lender_.where(), {.offset = 10});
        EXPECT_FALSE(takes_turns(b));
        EXPECT_THAT(b.placement(borrower_.where()).reason, ::testing::HasSubstr("at the same time"));
        EXPECT_TRUE(same(kernel_read(other.native()), part(noise(size), 10, size - 10)));
        kernel_write(held.native(), 0, noise(10, 2));
    }
    bytes wanted = noise(size);
    std::ranges::copy(noise(10, 2), wanted.begin());
    EXPECT_TRUE(same(read(b, lender_), wanted));
    EXPECT_TRUE(same(read(b, borrower_), wanted));
    b.discard(lender_.where());
    EXPECT_TRUE(same(read(b, borrower_), wanted));
    EXPECT_TRUE(same(content(b), wanted));
    b.discard(borrower_.where());
    EXPECT_EQ(memory_in_all().held, size);
}

TEST_P(turns, leave_the_content_with_the_lender_when_the_borrower_goes) {
    buffer b = borrowed();
    b.discard(borrower_.where());
    EXPECT_EQ(failure_of([&] { b.placement(borrower_.where()); }).code, error_code::not_allocated);
    EXPECT_TRUE(same(read(b, lender_), noise(size)));
    EXPECT_TRUE(same(read(b, borrower_), noise(size)));
    EXPECT_EQ(moved(b), 0u);
}

TEST_P(turns, keep_the_memory_while_one_needs_it) {
    buffer b = borrowed();
    b.discard(lender_.where());
    EXPECT_TRUE(same(read(b, borrower_), noise(size)));
    EXPECT_EQ(failure_of([&] { b.view(0, 10).discard(borrower_.where()); }).code, error_code::access_conflict);
    EXPECT_TRUE(same(content(b), noise(size)));
    b.discard(borrower_.where());
    b.discard(lender_.where());
    EXPECT_EQ(memory_in(lender_.where()).held, 0u);
    EXPECT_TRUE(same(content(b), noise(size)));
}

TEST_P(turns, count_a_mark_for_the_one_memory) {
    buffer b = borrowed();
    put(b, noise(size, 2));
    b.mark_dirty(lender_.where());
    EXPECT_TRUE(same(read(b, lender_), noise(size)));
    EXPECT_TRUE(same(content(b), noise(size)));
}

TEST_P(turns, are_not_begun_where_the_loan_fails) {
    buffer b(size);
    write(b, lender_, 0, noise(size));
    faults::all().arm(1, error_code::transfer_failed, false);
    EXPECT_TRUE(same(read(b, borrower_), noise(size)));
    EXPECT_FALSE(takes_turns(b));
    EXPECT_THAT(b.placement(borrower_.where()).reason, ::testing::HasSubstr("sharing failed"));
}

TEST_P(turns, end_where_the_memory_is_not_to_be_had) {
    buffer b = borrowed();
    EXPECT_TRUE(same(read(b, lender_), noise(size)));
    faults::all().arm(1, error_code::transfer_failed, false);
    EXPECT_TRUE(same(read(b, borrower_), noise(size)));
    EXPECT_FALSE(takes_turns(b));
    EXPECT_THAT(b.placement(borrower_.where()).reason, ::testing::HasSubstr("sharing failed"));
}

TEST_P(turns, that_cannot_be_given_back_are_tried_again) {
    buffer b = borrowed();
    faults::all().arm(1, error_code::transfer_failed, false);
    const failure told = failure_of([&] { b.read(lender_.where()); });
    EXPECT_EQ(told.code, error_code::transfer_failed);
    EXPECT_THAT(told.message, ::testing::HasSubstr("buffer #"));
    EXPECT_TRUE(same(read(b, lender_), noise(size)));
    EXPECT_TRUE(takes_turns(b));
}

TEST_P(turns, of_threads_lose_nothing) {
    bytes wanted = noise(size);
    for (const int offset : {0, 200}) std::fill_n(wanted.begin() + offset, 100, std::byte{5});
    for (int i = 0; i < 40; ++i) {
        buffer b = borrowed();
        const auto count = [&](fake_device& at, std::size_t offset) {
            for (unsigned char value = 1; value <= 5; ++value) {
                const auto lease = b.read_write(at.where(), {.offset = offset, .count = 100});
                kernel_write(lease.native(), 0, of(100, value));
            }
        };
        std::thread other([&] { count(borrower_, 0); });
        count(lender_, 200);
        other.join();
        EXPECT_TRUE(same(content(b), wanted));
    }
}

TEST_P(turns, are_not_taken_with_nothing) {
    buffer b(0);
    read(b, lender_);
    read(b, borrower_);
    EXPECT_FALSE(takes_turns(b));
}

TEST_P(turns, do_not_end_with_a_standing_hold_of_no_bytes) {
    buffer b(size);
    write(b, lender_, 0, noise(size));
    const standing_hold hold = b.bind(borrower_.where(), access::read_write, {.count = 0});
    EXPECT_TRUE(same(read(b, lender_), noise(size)));
}

TEST_P(turns, are_not_taken_from_a_standing_hold_that_has_not_paused) {
    buffer b(size);
    write(b, lender_, 0, noise(size));
    int asked = 0;
    const standing_hold hold = b.bind(lender_.where(), access::read_write, {.pause = [&] { ++asked; }});
    EXPECT_TRUE(same(read(b, borrower_), noise(size)));
    EXPECT_EQ(asked, 1);
    EXPECT_FALSE(takes_turns(b));
}

TEST(a_memory_that_changes_hands, takes_along_what_is_current_in_it) {
    using coherence::host;
    using coherence::set_of;
    coherence::directory known(30);
    coherence::wrote(known, {0, 10}, 1);
    coherence::wrote(known, {10, 20}, host);
    const coherence::sharing apart;
    complete(known, apart, {.does = coherence::step::kind::move, .part = {0, 5}, .from = 1, .to = host});
    coherence::hand_over(known, 1, 2);
    std::vector<coherence::space_set> current;
    known.for_each_run(known.whole(),
                       [&](byte_range, const coherence::knowledge& each) { current.push_back(each.current); });
    EXPECT_THAT(current, ::testing::ElementsAre(set_of(2) | set_of(host), set_of(2), set_of(host), 0u));
}

}  // namespace
}  // namespace unibuf::test::turns_test
