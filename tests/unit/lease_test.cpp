// tests/unit/lease_test.cpp: the right to touch a range, from the call that gave it until it ends.
#include <thread>
#include <type_traits>
#include <utility>

#include "unit/common.hpp"

namespace unibuf::test::lease_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t size = 1000;

static_assert(!std::is_copy_constructible_v<lease<int>> && !std::is_copy_assignable_v<lease<int>>);
static_assert(std::is_nothrow_move_constructible_v<lease<int>> && std::is_nothrow_move_assignable_v<lease<int>>);
static_assert(std::is_same_v<decltype(std::declval<buffer>().read(host).data()), const std::byte*>);

class a_lease : public testing::Test {
protected:
    /// Returns whether another thread gets a write lease of all bytes now.
    bool is_free() {
        bool got = false;
        std::jthread([&] {
            try {
                got = static_cast<bool>(b.write(host, {.timeout = 0ns}));
            } catch (const error& busy) {
                EXPECT_EQ(busy.code(), error_code::timeout) << busy.what();
            }
        }).join();
        return got;
    }

    const space device{"debug:0"};
    buffer b{size};
};

TEST_F(a_lease, gives_the_bytes_that_were_asked_for) {
    put(b, noise(size));
    for (const space where : {host, device}) {
        const auto whole = b.read(where);
        EXPECT_TRUE(whole);
        EXPECT_EQ(whole.where(), where);
        EXPECT_TRUE(same(whole.span(), noise(size)));
        const auto middle = b.read(where, {.offset = 100, .count = 50});
        EXPECT_TRUE(same(middle.span(), part(noise(size), 100, 50)));
        EXPECT_EQ(&middle[7], whole.data() + 107);
        EXPECT_EQ(middle.native().offset, 100u);
        EXPECT_EQ(middle.native().bytes, 50u);
        EXPECT_EQ(middle.native().as<const std::byte>(), middle.data());
        const auto end = b.read(where, {.offset = 990});
        EXPECT_EQ(end.size(), 10u);
        const auto none = b.read(where, {.offset = size});
        EXPECT_EQ(none.span().size(), 0u);
    }
}

TEST_F(a_lease, of_a_view_is_of_its_range) {
    put(b, noise(size));
    buffer view = b.view(100, 50).view(10, 20);
    EXPECT_TRUE(same(content(view, host, {.offset = 5, .count = 10}), part(noise(size), 115, 10)));
    EXPECT_TRUE(same(content(view, device), part(noise(size), 110, 20)));
    EXPECT_EQ(b.statistics().bytes_moved(), 20u);
}

TEST_F(a_lease, fetches_what_its_access_needs) {
    put(b, noise(size));
    b.write(device, {.offset = 0, .count = 100}).release();
    EXPECT_EQ(b.statistics().bytes_moved(), 0u);
    b.read_write(device, {.offset = 50, .count = 100}).release();
    EXPECT_EQ(b.statistics().bytes_moved(), 50u);
    b.read(device).release();
    EXPECT_EQ(b.statistics().bytes_moved(), 900u);
}

TEST_F(a_lease, of_a_write_is_newest_from_the_grant_on) {
    put(b, noise(size));
    b.read(device).release();
    const auto writing = b.write(device, {.offset = 0, .count = 10});
    EXPECT_EQ(b.state(), buffer_state::device_dirty);
    EXPECT_EQ(b.read(host, {.offset = 10}).size(), 990u) << "the rest is free";
}

TEST_F(a_lease, holds_nothing_by_default) {
    lease<const int> none;
    EXPECT_FALSE(none);
    EXPECT_EQ(none.size(), 0u);
    none.release();
    EXPECT_EQ(failure_of([&] { none.data(); }).code, error_code::invalid_argument);
    EXPECT_EQ(failure_of([&] { none.native(); }).code, error_code::invalid_argument);
    lease<const int> other(std::move(none));
    EXPECT_FALSE(other);
}

TEST_F(a_lease, may_be_ended_twice) {
    for (const space where : {host, device}) {
        auto held = b.write(where);
        EXPECT_FALSE(is_free());
        held.release();
        EXPECT_FALSE(held);
        EXPECT_TRUE(is_free());
        held.release();
        EXPECT_EQ(failure_of([&] { held.span(); }).code, error_code::invalid_argument);
        EXPECT_EQ(failure_of([&] { held.native(); }).code, error_code::invalid_argument);
        const auto next = b.write(where);
        held.release();
        EXPECT_FALSE(is_free()) << "the second end is not that of another lease";
    }
}

TEST_F(a_lease, moves) {
    for (const space where : {host, device}) {
        auto first = b.write(where);
        first[0] = std::byte{42};
        auto second = std::move(first);
        EXPECT_FALSE(first);
        EXPECT_TRUE(second);
        EXPECT_EQ(second[0], std::byte{42});
        first.release();
        EXPECT_FALSE(is_free());

        buffer other(10);
        second = other.write(where);
        EXPECT_TRUE(is_free()) << "the lease that was there before has ended";
        EXPECT_EQ(second.size(), 10u);
        second = lease<std::byte>();
        EXPECT_TRUE(other.write(where));
    }
}

TEST_F(a_lease, shares_with_those_that_only_read) {
    put(b, noise(size));
    const auto first = b.read(host);
    const auto second = b.read(host);
    const auto third = b.read(device);
    std::jthread([&] { EXPECT_TRUE(same(content(b), noise(size))); }).join();
    EXPECT_FALSE(is_free());
    EXPECT_TRUE(same(first.span(), second.span()));
    EXPECT_TRUE(same(first.span(), third.span()));
}

TEST_F(a_lease, shares_with_those_of_other_bytes) {
    auto left = b.write(host, {.offset = 0, .count = 500});
    auto right = b.write(device, {.offset = 500});
    left[499] = std::byte{1};
    right[0] = std::byte{2};
    std::jthread([&] { EXPECT_EQ(b.read(host, {.offset = 500, .count = 0, .timeout = 0ns}).size(), 0u); }).join();
    left.release();
    right.release();
    EXPECT_EQ(content(b)[499], std::byte{1});
    EXPECT_EQ(content(b)[500], std::byte{2});
}

TEST_F(a_lease, excludes_whoever_writes) {
    const access_options middle{.offset = 400, .count = 200};
    for (const space where : {host, device}) {
        for (const space other : {host, device}) {
            const auto reading = b.read(where, middle);
            EXPECT_EQ(failure_of([&] { b.write(other); }).code, error_code::access_conflict);
            EXPECT_EQ(failure_of([&] { b.read_write(other, {.offset = 599}); }).code, error_code::access_conflict);
            EXPECT_TRUE(b.write(other, {.offset = 600}));
        }
        for (const space other : {host, device}) {
            const auto writing = b.read_write(where, middle);
            EXPECT_EQ(failure_of([&] { b.read(other); }).code, error_code::access_conflict);
            EXPECT_EQ(failure_of([&] { b.write(other, {.offset = 0, .count = 401}); }).code,
                      error_code::access_conflict);
            EXPECT_TRUE(b.write(other, {.offset = 0, .count = 400}));
        }
    }
    EXPECT_TRUE(is_free());
}

TEST_F(a_lease, is_waited_for_no_longer_than_was_asked) {
    for (const space where : {host, device}) {
        put(b, noise(size));
        auto held = b.write(where);
        held[3] = std::byte{3};
        std::jthread([&] {
            EXPECT_EQ(failure_of([&] { b.read(host, {.timeout = 0ns}); }).code, error_code::timeout);
            EXPECT_EQ(failure_of([&] { b.read(device, {.timeout = 2ms}); }).code, error_code::timeout);
            EXPECT_EQ(failure_of([&] { b.prefetch(device, {.timeout = 2ms}); }).code, error_code::timeout);
        }).join();
        EXPECT_EQ(held[3], std::byte{3});
        held.release();
        EXPECT_EQ(content(b, host, {.timeout = 0ns})[3], std::byte{3});
    }
}

TEST_F(a_lease, is_refused_for_a_negative_time_whether_anybody_is_in_the_way_or_not) {
    put(b, noise(size));
    for (const std::chrono::nanoseconds timeout : {std::chrono::nanoseconds(-1), std::chrono::nanoseconds::min()}) {
        const auto expect_refused = [&](const auto& call) {
            const failure told = failure_of(call);
            EXPECT_EQ(told.code, error_code::invalid_argument);
            EXPECT_NE(told.message.find(std::to_string(timeout.count())), std::string::npos) << told.message;
        };
        for (const space where : {host, device}) {
            expect_refused([&] { b.read(where, {.timeout = timeout}); });
            expect_refused([&] { b.write(where, {.timeout = timeout}); });
            expect_refused([&] { b.prefetch(where, {.timeout = timeout}); });
            expect_refused([&] { b.mark_dirty(where, {.timeout = timeout}); });
            expect_refused([&] { lease_together(b.to_read(where, {.timeout = timeout})); });
        }
        expect_refused([&] { record_fence(host).wait(timeout); });
    }
}

TEST_F(a_lease, may_outlive_its_buffer) {
    const std::uint64_t before = memory_in_all().held;
    for (const space where : {host, device}) {
        auto whole = std::make_unique<buffer>(size);
        put(*whole, noise(size));
        auto held = whole->read_write(where);
        whole.reset();
        EXPECT_GT(memory_in_all().held, before);
        EXPECT_TRUE(same(held.span(), noise(size)));
        held[0] = std::byte{1};
        held.release();
        EXPECT_EQ(memory_in_all().held, before) << "the last lease takes the buffer with it";
    }
}

TEST_F(a_lease, leaves_its_copy_in_place_for_who_holds_that) {
    const default_device_is debug(device);
    for (const space where : {host, device}) {
        auto whole = std::make_unique<buffer>(size);
        EXPECT_EQ(failure_of([&] { whole->hold_copy(where); }).code, error_code::not_allocated);
        auto held = whole->write(where);
        const copy_view kept = whole->hold_copy(where, 3, 5);
        EXPECT_EQ(kept.data(), held.data() + 3);
        held[3] = std::byte{7};
        std::thread([&] { held.release(); }).join();
        whole->sync_to_host();
        whole->sync_to_device();
        EXPECT_EQ(failure_of([&] { whole->discard(where); }).code, error_code::access_conflict);
        whole.reset();
        EXPECT_EQ(kept.data()[0], std::byte{7});
    }
}

TEST_F(a_lease, may_outlive_its_buffer_with_others) {
    const std::uint64_t before = memory_in_all().held;
    auto whole = std::make_unique<buffer>(size);
    put(*whole, noise(size));
    std::vector<lease<const std::byte>> held;
    for (int i = 0; i < 5; ++i) held.push_back(whole->read(i % 2 == 0 ? host : device));
    whole.reset();
    while (!held.empty()) {
        EXPECT_TRUE(same(held.back().span(), noise(size)));
        EXPECT_GT(memory_in_all().held, before);
        held.erase(held.begin());
    }
    EXPECT_EQ(memory_in_all().held, before);
}

}  // namespace
}  // namespace unibuf::test::lease_test
