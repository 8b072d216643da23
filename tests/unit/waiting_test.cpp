// tests/unit/waiting_test.cpp: who goes first where threads wait for each other, by the order of what happens.
#include <atomic>
#include <latch>
#include <mutex>
#include <string>
#include <thread>

#include "backends/backend.hpp"
#include "buffer/wait_circle.hpp"
#include "buffer/waiting_writers.hpp"
#include "memory/limits.hpp"
#include "support/fake_device.hpp"
#include "unit/common.hpp"

namespace unibuf::test::waiting_test {
namespace {

using namespace std::chrono_literals;

/// Is set when a thread that a device's API is bound to waits for another thread.
thread_local constinit std::atomic<bool>* waits = nullptr;

class tells_that_it_waits {
public:
    explicit tells_that_it_waits(std::atomic<bool>& flag) {
        waits = &flag;
        backends::help_others = [] {
            waits->store(true);
            waits->notify_all();
        };
    }
    ~tells_that_it_waits() { backends::help_others = nullptr; }
    tells_that_it_waits(const tells_that_it_waits&) = delete;
    tells_that_it_waits& operator=(const tells_that_it_waits&) = delete;
};

class a_writer_that_waits : public testing::Test {
protected:
    ~a_writer_that_waits() override { detail::readers_patience = 10ms; }

    void note(const char* what) {
        const std::scoped_lock lock(mutex_);
        order_ += what;
    }

    std::jthread start(std::atomic<bool>& is_waiting, const char* what, auto take) {
        return std::jthread([this, &is_waiting, what, take] {
            const tells_that_it_waits here(is_waiting);
            const auto lease = take();
            note(what);
            is_waiting = true;
            is_waiting.notify_all();
        });
    }

    std::string order() {
        const std::scoped_lock lock(mutex_);
        return order_;
    }

    buffer b{1000};

private:
    std::mutex mutex_;
    std::string order_;
};

TEST_F(a_writer_that_waits, goes_before_readers_that_come_later) {
    detail::readers_patience = forever;
    for (const space where : {host, space("debug:0")}) {
        std::atomic<bool> writer_waits = false;
        std::atomic<bool> reader_waits = false;
        auto first = b.read(where);
        const std::jthread writer = start(writer_waits, "writer ", [&] { return b.write(host); });
        writer_waits.wait(false);
        const std::jthread reader = start(reader_waits, "reader ", [&] { return b.read(host); });
        reader_waits.wait(false);
        first.release();
    }
    EXPECT_EQ(order(), "writer reader writer reader ");
}

TEST_F(a_writer_that_waits, keeps_nobody_who_reads_already) {
    detail::readers_patience = forever;
    std::atomic<bool> writer_waits = false;
    auto first = b.read(host);
    const std::jthread writer = start(writer_waits, "writer ", [&] { return b.write(host); });
    writer_waits.wait(false);
    b.read(host).release();
    b.read("debug:0", {.offset = 3, .count = 4}).release();
    EXPECT_EQ(order(), "");
    first.release();
}

TEST_F(a_writer_that_waits, keeps_nobody_who_reads_other_bytes_or_may_not_wait) {
    detail::readers_patience = forever;
    std::atomic<bool> writer_waits = false;
    auto first = b.read(host, {.offset = 0, .count = 10});
    const std::jthread writer =
        start(writer_waits, "writer ", [&] { return b.write(host, {.offset = 0, .count = 10}); });
    writer_waits.wait(false);
    std::jthread([&] { b.read(host, {.offset = 10}).release(); }).join();
    std::jthread([&] { b.read(host, {.timeout = 0ns}).release(); }).join();
    EXPECT_EQ(order(), "");
    first.release();
}

TEST_F(a_writer_that_waits, no_longer_lets_readers_go_on) {
    detail::readers_patience = forever;
    std::atomic<bool> reader_waits = false;
    auto first = b.read(host);
    std::jthread([&] {
        EXPECT_EQ(failure_of([&] { b.write(host, {.timeout = 1ms}); }).code, error_code::timeout);
    }).join();
    const std::jthread reader = start(reader_waits, "reader ", [&] { return b.read(host); });
    reader_waits.wait(false);
    EXPECT_EQ(order(), "reader ");
}

/// Each thread reads one buffer and then the other's, while a writer waits for either.
TEST_F(a_writer_that_waits, makes_no_circle_of_readers) {
    buffer c(1000);
    std::latch both(2);
    std::latch both_have_both(2);
    std::atomic<bool> waits_for_b = false;
    std::atomic<bool> waits_for_c = false;
    const auto read = [&](buffer& one, buffer& other) {
        const auto first = one.read(host);
        both.arrive_and_wait();
        waits_for_b.wait(false);
        waits_for_c.wait(false);
        const auto second = other.read(host);
        EXPECT_EQ(order(), "");
        both_have_both.arrive_and_wait();
    };
    const std::jthread one([&] { read(b, c); });
    const std::jthread other([&] { read(c, b); });
    both.wait();
    const std::jthread writer_of_b = start(waits_for_b, "b ", [&] { return b.write(host); });
    const std::jthread writer_of_c = start(waits_for_c, "c ", [&] { return c.write(host); });
}

/// A thread that a device is bound to helps others whatever it waits for, as the other thread may be waiting for it.
TEST(a_pool, is_released_to_by_a_thread_that_others_wait_for) {
    fake_device& device = fake_device::get({.asynchronous = true});
    memory_pool pool;
    buffer b = pool.acquire(1000);
    b.write(device.where()).release();
    std::atomic<bool> moving = false;
    std::atomic<bool> helped = false;
    device.queued().add({.run = [&](std::size_t) {
        moving = true;
        moving.notify_all();
        helped.wait(false);
    }});
    const std::jthread other([of = b.view(0, 1000)]() mutable { of.sync_to_host(); });
    moving.wait(false);
    const tells_that_it_waits here(helped);
    pool.release(std::move(b));
    EXPECT_TRUE(helped);
}

/// All memory of a device, which a lease of another thread holds until it is `freed`.
class held_memory {
public:
    held_memory() {
        detail::patience_for_memory = forever;
        limit_memory(device, 1000);
        holder_ = std::jthread([this] {
            const auto lease = first_.write(device);
            is_held_ = true;
            is_held_.notify_all();
            freed.wait(false);
        });
        is_held_.wait(false);
    }
    ~held_memory() {
        holder_.join();
        limit_memory(device, no_memory_limit);
        detail::patience_for_memory = 1s;
    }
    held_memory(const held_memory&) = delete;
    held_memory& operator=(const held_memory&) = delete;

    const space device{"debug:0"};
    std::atomic<bool> freed = false;

private:
    buffer first_{1000};
    std::atomic<bool> is_held_ = false;
    std::jthread holder_;
};

TEST(an_access_that_lacks_memory, helps_those_whose_leases_it_waits_for) {
    held_memory all;
    buffer wanted(1000);
    {
        const tells_that_it_waits here(all.freed);
        wanted.write(all.device);
    }
    EXPECT_TRUE(all.freed);
}

/// Memory that a copy may be made of stays until it is made, also where that takes longer than the others may wait.
TEST(a_copy_that_is_made, keeps_the_memory_of_the_others) {
    held_memory all;
    buffer wanted(1000);
    wanted.write(host).release();
    wanted.discard_content();
    std::atomic<bool> is_made = false;
    std::jthread maker([&] {
        const tells_that_it_waits here(is_made);
        wanted.write(all.device);
    });
    is_made.wait(false);
    set_default_timeout(1ms);
    EXPECT_EQ(failure_of([&] { wanted.discard(host); }).code, error_code::timeout);
    set_default_timeout(forever);
    EXPECT_TRUE(has_copy(wanted, host));
    all.freed = true;
    all.freed.notify_all();
    maker.join();
    wanted.discard(host);
    EXPECT_FALSE(has_copy(wanted, host));
}

/// Whoever moves bytes may free a copy in the end, and no bytes are in the way of an access of none.
TEST(an_access_of_no_bytes, makes_no_copy_while_another_thread_moves_bytes) {
    const space device("debug:0");
    buffer of(1000);
    put(of, noise(1000));
    std::atomic<bool> waits_or_has_ended = false;
    std::atomic<bool> has_ended = false;
    bool was_let_by = false;
    std::jthread maker;
    standing_hold held = of.bind(device, access::read, {.pause = [&] {
                                     maker = std::jthread([&] {
                                         const tells_that_it_waits here(waits_or_has_ended);
                                         of.read(host_as_device, {.count = 0}).release();
                                         has_ended = true;
                                         waits_or_has_ended = true;
                                         waits_or_has_ended.notify_all();
                                     });
                                     waits_or_has_ended.wait(false);
                                     was_let_by = has_ended;
                                 }});
    of.discard(host);
    maker.join();
    EXPECT_FALSE(was_let_by);
    EXPECT_TRUE(has_copy(of, host_as_device) && has_copy(of, host));
    EXPECT_TRUE(same(content(of), noise(1000)));
}

/// A fence that only the thread can ask that has made it, as those of a program's OpenGL context.
class of_one_thread final : public fence::work {
public:
    bool wait(std::chrono::nanoseconds) override {
        if (std::this_thread::get_id() == owner_) return over;
        throw error(error_code::device_unavailable, "the context is current on another thread");
    }

    std::atomic<bool> over = false;

private:
    std::thread::id owner_ = std::this_thread::get_id();
};

TEST(work_that_cannot_be_asked, is_waited_for_still) {
    const space device("debug:0");
    buffer of(1000);
    const auto work = std::make_shared<of_one_thread>();
    of.read_write(device).release(fence(work));
    std::jthread([&] {
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(failure_of([&] { of.read(host); }).code, error_code::device_unavailable);
        }
    }).join();
    EXPECT_EQ(failure_of([&] { of.read(host, {.timeout = 0ns}); }).code, error_code::timeout);
    work->over = true;
    of.read(host, {.timeout = 0ns});
}

TEST(threads_in_a_circle, are_named_by_the_wait_that_closes_it) {
    const int of = 0;
    const detail::waits_for first(1, 2, &of, "a");
    const detail::waits_for second(2, 3, &of, "b");
    EXPECT_EQ(second.circle(), "");
    const detail::waits_for beside(4, 1, &of, "d");
    {
        const detail::waits_for third(3, 1, &of, "c");
        EXPECT_EQ(third.circle(),
                  "thread 3 waits for thread 1: c; thread 1 waits for thread 2: a; thread 2 waits for thread 3: b");
        EXPECT_EQ(beside.circle(), "");
    }
    EXPECT_EQ(first.circle(), "");
}

/// A thread whose wait is over, and that has not woken up yet, is in no circle.
TEST(threads_in_a_circle, wait_for_holds_that_are_there) {
    const int of = 0;
    const int another = 0;
    const detail::waits_for first(1, 2, &of, "a");
    const detail::waits_for second(2, 1, &another, "b");
    EXPECT_NE(second.circle(), "");
    detail::waits_for::look_again(&of);
    EXPECT_EQ(second.circle(), "");
}

#ifndef NDEBUG
TEST(threads_in_a_circle, are_named_in_debug_builds) {
    buffer one(1000);
    buffer other(1000);
    auto mine = one.write(host);
    std::atomic<bool> peer_waits = false;
    std::latch has_other(1);
    testing::internal::CaptureStderr();
    const std::jthread peer([&] {
        const tells_that_it_waits here(peer_waits);
        const auto lease = other.write(host);
        has_other.count_down();
        one.write(host);
    });
    has_other.wait();
    peer_waits.wait(false);
    EXPECT_EQ(failure_of([&] { other.write(host, {.timeout = 0ns}); }).code, error_code::timeout);
    mine.release();
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_NE(told.find("threads wait for each other"), std::string::npos) << told;
}
#endif

}  // namespace
}  // namespace unibuf::test::waiting_test
