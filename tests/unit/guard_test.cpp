// unit/guard_test.cpp: what guards refuse, tell and let pass, and what budgets count.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "unibuf/guard.hpp"
#include "unibuf/unibuf.hpp"
#include "unit/common.hpp"

namespace unibuf::test::guard_test {
namespace {

constexpr std::size_t size = 4096;
constexpr const char* device = "debug:0";
constexpr buffer_options mirrored{.hint = memory_hint::gpu_preferred};

std::string refusal_of(const auto& act) {
    try {
        act();
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), error_code::access_conflict);
        return refused.what();
    }
    return "";
}

/// A buffer that the host has written, with a copy at the device.
class guarded : public testing::Test {
protected:
    guarded() {
        content_.write(device).release();
        write_at_host(1);
    }

    void write_at_host(int value) { std::memset(content_.write(host).data(), value, size); }
    std::uint64_t moved() const { return content_.statistics().bytes_moved(); }

    default_device_is set_{device};
    buffer content_{size, mirrored};
};

TEST_F(guarded, refuses_what_an_access_would_move_and_nothing_is_lost) {
    const std::uint64_t before = moved();
    {
        const transfer_guard quiet(guard_action::refuse);
        for (const auto& act :
             {+[](buffer& of) { of.read(device).release(); }, +[](buffer& of) { of.read_write(device).release(); },
              +[](buffer& of) { static_cast<void>(of.device()); }}) {
            const std::string text = refusal_of([&] { act(content_); });
            EXPECT_NE(text.find("4096 bytes from host to debug:0"), std::string::npos) << text;
        }
        EXPECT_EQ(moved(), before);
    }
    EXPECT_EQ(content_.read(device)[7], std::byte{1});
}

TEST_F(guarded, lets_pass_what_is_asked_for_by_name) {
    const transfer_guard quiet(guard_action::refuse);
    content_.sync_to_device();
    EXPECT_EQ(content_.read(device)[7], std::byte{1});
    write_at_host(2);
    content_.prefetch(device);
    EXPECT_EQ(content_.read(device)[7], std::byte{2});
    std::memset(content_.write(device).data(), 3, size);
    bytes copy(size);
    content_.copy_to(copy);
    EXPECT_EQ(copy[7], std::byte{3});
}

/// The boxes are no rectangle of each other, so they are copied at the host, and the source is newest at the device.
TEST_F(guarded, lets_pass_copies_between_buffers) {
    unified_buffer<std::byte> target({4, 4});
    unified_buffer<std::byte> source({8, 2}, mirrored);
    std::ranges::fill(source.write(device), std::byte{4});
    auto from = source.view(slice{0, 8}, slice{0, 1});
    auto to = target.view(slice{0, 4}, slice{0, 2});
    const transfer_guard quiet(guard_action::refuse);
    from.bytes().copy_to(to.bytes());
    EXPECT_EQ(target.read(host)[1], std::byte{4});
    EXPECT_NE(refusal_of([&] { source.read(host, {.offset = 1, .count = 1}).release(); }), "");
}

TEST_F(guarded, refuse_leases_together_before_any_of_them_moves) {
    unified_buffer<std::byte> second({size}, mirrored);
    std::ranges::fill(second.write(device), std::byte{5});
    const std::uint64_t before = moved();
    const transfer_guard quiet(guard_action::refuse, {.to = host});
    const auto both = [&] { static_cast<void>(lease_together(content_.to_read(device), second.to_read(host))); };
    EXPECT_NE(refusal_of(both), "");
    EXPECT_EQ(moved(), before);
}

/// What goes back to a standing hold is nobody's access.
TEST_F(guarded, lets_standing_holds_go_on) {
    int resumed = 0;
    const standing_hold hold =
        content_.bind(device, access::read_write, {.pause = [] {}, .resume = [&] { ++resumed; }});
    const transfer_guard quiet(guard_action::refuse, {.to = device});
    write_at_host(9);
    EXPECT_EQ(resumed, 1);
}

TEST_F(guarded, tells_nobody_where_nobody_listens) {
    const int before = ::dup(STDERR_FILENO);
    ::close(STDERR_FILENO);
    {
        const transfer_guard told(guard_action::log);
        EXPECT_NO_THROW(content_.read(device).release());
    }
    ::dup2(before, STDERR_FILENO);
    ::close(before);
}

/// Whoever ends it last: objects of the thread's end in an order of their own.
TEST_F(guarded, may_end_with_its_thread) {
    std::thread([] {
        thread_local std::optional<transfer_guard> last;
        const transfer_guard first(guard_action::log);
        last.emplace(guard_action::refuse);
    }).join();
}

TEST_F(guarded, lets_pass_what_moves_nothing) {
    const transfer_guard quiet(guard_action::refuse);
    content_.read(host).release();
    content_.write(device).release();
}

TEST_F(guarded, is_about_its_direction) {
    const transfer_guard quiet(guard_action::refuse, {.from = device});
    content_.read_write(device).release();
    EXPECT_NE(refusal_of([&] { content_.read(host).release(); }), "");
}

TEST_F(guarded, heeds_the_innermost_that_is_about_the_transfer) {
    const transfer_guard outer(guard_action::refuse, {.to = device});
    {
        const transfer_guard other(guard_action::allow, {.to = host});
        EXPECT_NE(refusal_of([&] { content_.read(device).release(); }), "");
    }
    {
        const transfer_guard inner(guard_action::allow, {.to = device});
        content_.read(device).release();
    }
    write_at_host(2);
    EXPECT_NE(refusal_of([&] { content_.read(device).release(); }), "");
}

TEST_F(guarded, is_about_its_thread) {
    const transfer_guard quiet(guard_action::refuse);
    std::thread([&] { content_.read(device).release(); }).join();
    EXPECT_NE(moved(), 0u);
}

TEST_F(guarded, tells_where_it_is_asked_to) {
    testing::internal::CaptureStderr();
    {
        const transfer_guard told(guard_action::log);
        content_.read(device).release();
        content_.read(device).release();  // of what is there
    }
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
    EXPECT_NE(text.find("4096 bytes from host to debug:0"), std::string::npos) << text;
}

TEST_F(guarded, counts_for_a_budget) {
    const transfer_budget all(size);
    const transfer_budget back(0, {.from = device});
    content_.read(device).release();
    EXPECT_EQ(all.moved(), size);
    EXPECT_EQ(back.moved(), 0u);
    EXPECT_NO_THROW(all.check());
    EXPECT_NO_THROW(back.check());
    content_.write(device).release();
    content_.read(host).release();
    EXPECT_NE(refusal_of([&] { all.check(); }).find("8192 bytes were moved"), std::string::npos);
    EXPECT_NE(refusal_of([&] { back.check(); }).find("4096 from debug:0 to host for read"), std::string::npos);
}

}  // namespace
}  // namespace unibuf::test::guard_test
