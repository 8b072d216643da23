// tests/unit/wait_limit_test.cpp: how long calls wait that name no timeout, and who may end a wait.
#include <atomic>
#include <latch>
#include <thread>

#include "memory/limits.hpp"
#include "unit/common.hpp"

namespace unibuf::test::wait_limit_test {
namespace {

using namespace std::chrono_literals;

/// Is what the one who is asked throws.
struct enough {};

void end_now(void* times) {
    ++*static_cast<int*>(times);
    throw enough{};
}

/// Holds a write lease of all of a buffer on another thread.
class another_holder {
public:
    explicit another_holder(buffer& of)
        : thread_([this, &of] {
              const auto lease = of.write(host);
              have_.count_down();
              done_.wait();
          }) {
        have_.wait();
    }
    ~another_holder() { done_.count_down(); }
    another_holder(const another_holder&) = delete;
    another_holder& operator=(const another_holder&) = delete;

private:
    std::latch have_{1};
    std::latch done_{1};
    std::jthread thread_;
};

class the_default_timeout : public testing::Test {
protected:
    ~the_default_timeout() override { set_default_timeout(forever); }
};

TEST_F(the_default_timeout, ends_the_waits_of_calls_that_name_none) {
    buffer b(1000);
    put(b, noise(1000));
    const std::vector<std::byte> data(10);
    std::vector<std::byte> target(1000);
    set_default_timeout(1ms);
    EXPECT_EQ(default_timeout(), 1ms);
    {
        const another_holder other(b);
        EXPECT_EQ(failure_of([&] { b.host(); }).code, error_code::timeout);
        EXPECT_EQ(failure_of([&] { b.read(host); }).code, error_code::timeout);
        EXPECT_EQ(failure_of([&] { b.copy_view(space("debug:0")); }).code, error_code::timeout);
        EXPECT_EQ(failure_of([&] { b.fill(std::vector<std::byte>(1)); }).code, error_code::timeout);
        EXPECT_EQ(failure_of([&] { b.copy_from(data); }).code, error_code::timeout);
        EXPECT_EQ(failure_of([&] { b.copy_to(target); }).code, error_code::timeout);
        EXPECT_EQ(failure_of([&] { b.mark_host_dirty(); }).code, error_code::timeout);
        EXPECT_EQ(failure_of([&] { b.discard(host); }).code, error_code::timeout);
        EXPECT_EQ(failure_of([&] { b.discard_content(); }).code, error_code::timeout);
        EXPECT_EQ(failure_of([&] { b.sync_to_host(); }).code, error_code::timeout);
    }
    EXPECT_TRUE(same(content(b), noise(1000)));
}

TEST_F(the_default_timeout, is_not_that_of_calls_that_name_one) {
    buffer b(1000);
    set_default_timeout(0ns);
    std::atomic<bool> may_end = false;
    std::latch have(1);
    std::jthread holder([&] {
        const auto lease = b.write(host);
        have.count_down();
        may_end.wait(false);
    });
    have.wait();
    std::jthread ends([&] {
        may_end = true;
        may_end.notify_all();
    });
    EXPECT_TRUE(b.read(host, {.timeout = 1h}));
}

TEST_F(the_default_timeout, is_not_negative) {
    EXPECT_EQ(failure_of([] { set_default_timeout(-1ns); }).code, error_code::invalid_argument);
    EXPECT_EQ(default_timeout(), forever);
}

TEST(who_may_end_waits, is_asked_while_another_thread_has_the_bytes) {
    buffer b(1000);
    put(b, noise(1000));
    int times = 0;
    {
        const another_holder other(b);
        const interruptible here(end_now, &times);
        EXPECT_THROW(b.host(), enough);
        EXPECT_THROW(b.read_write(space("debug:0")), enough);
        EXPECT_THROW(b.discard_content(), enough);
    }
    EXPECT_EQ(times, 3);
    EXPECT_TRUE(same(content(b), noise(1000)));
}

TEST(who_may_end_waits, is_asked_again_after_it_said_to_go_on) {
    buffer b(1000);
    int times = 0;
    const another_holder other(b);
    const interruptible here(
        [](void* asked) {
            if (++*static_cast<int*>(asked) == 3) throw enough{};
        },
        &times);
    EXPECT_THROW(b.host(), enough);
    EXPECT_EQ(times, 3);
}

TEST(who_may_end_waits, is_not_asked_once_it_has_gone_nor_by_other_threads) {
    buffer b(1000);
    int times = 0;
    const interruptible outer(end_now, &times);
    {
        int inner = 0;
        const interruptible here(end_now, &inner);
    }
    std::latch have(1), waiting(1);
    std::jthread other([&] {
        const auto lease = b.write(host);
        have.count_down();
        waiting.wait();
    });
    have.wait();
    std::jthread third([&] {
        waiting.count_down();
        EXPECT_NO_THROW(b.read(host));
    });
    third.join();
    EXPECT_EQ(times, 0);
}

/// Work of the program that goes on until a test ends it.
class long_work final : public fence::work {
public:
    bool wait(std::chrono::nanoseconds timeout) override {
        if (timeout == forever && !done) ADD_FAILURE() << "somebody waits for ever";
        if (!done) std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(timeout, 1s));
        return done;
    }

    std::atomic<bool> done = false;
};

TEST(who_may_end_waits, is_asked_while_work_is_queued_and_what_was_queued_stays) {
    const auto work = std::make_shared<long_work>();
    buffer b(1000);
    put(b, noise(1000));
    b.read_write(space("debug:0")).release(fence(work));
    int times = 0;
    {
        const interruptible here(end_now, &times);
        EXPECT_THROW(b.host(), enough);
    }
    EXPECT_EQ(times, 1);
    EXPECT_EQ(b.state(), buffer_state::device_dirty);
    EXPECT_EQ(failure_of([&] { b.read(host, {.timeout = 0ns}); }).code, error_code::timeout);
    work->done = true;
    EXPECT_TRUE(same(content(b), noise(1000)));
}

TEST(who_may_end_waits, is_asked_while_memory_is_short) {
    const space device("debug:0");
    buffer theirs(1000), wanted(1000);
    put(wanted, noise(1000));
    std::latch have(1), may_end(1);
    std::jthread other([&] {
        const auto lease = theirs.write(device);
        limit_memory(device, memory_in(device).held);
        have.count_down();
        may_end.wait();
    });
    have.wait();
    const std::chrono::nanoseconds patience = detail::patience_for_memory.exchange(forever);
    int times = 0;
    {
        const interruptible here(end_now, &times);
        EXPECT_THROW(wanted.read(device), enough);
    }
    EXPECT_EQ(times, 1);
    may_end.count_down();
    other.join();
    detail::patience_for_memory = patience;
    limit_memory(device, no_memory_limit);
    EXPECT_TRUE(same(content(wanted), noise(1000)));
}

TEST(who_may_end_waits, gets_long_moves_in_parts) {
    constexpr std::size_t bytes = (std::size_t{64} << 20) + 4096;
    buffer b(bytes);
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; i += 4096) data[i] = static_cast<std::byte>(i / 4096 % 251);
    put(b, data);
    const interruptible here([](void*) {});
    EXPECT_TRUE(same(b.read(space("debug:0")).span(), data));
    ASSERT_EQ(b.statistics().transfers.size(), 1u);
    EXPECT_EQ(b.statistics().transfers[0].transfers, 2u);
    EXPECT_EQ(b.statistics().transfers[0].bytes, bytes);
    buffer untouched(bytes);
    EXPECT_EQ(untouched.read(host)[bytes - 1], std::byte{0});
}

TEST(own_leases, are_told_of_before_an_access_is_left_to_another_thread) {
    buffer b(1000);
    EXPECT_NO_THROW(b.check_not_excluded(access::write));
    const auto lease = b.read(host, {.count = 10});
    EXPECT_NO_THROW(b.check_not_excluded(access::read));
    EXPECT_EQ(failure_of([&] { b.check_not_excluded(access::write); }).code, error_code::access_conflict);
    EXPECT_NO_THROW(b.view(10, 10).check_not_excluded(access::write));
    std::jthread([&] { EXPECT_NO_THROW(b.check_not_excluded(access::write)); }).join();
}

}  // namespace
}  // namespace unibuf::test::wait_limit_test
