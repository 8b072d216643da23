// tests/contract/cuda/stall_test.cpp: who waits for whom: nobody waits for a stream that nobody named.
#include <time.h>

#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "backends/cuda/staging.hpp"
#include "contract/cuda/fixture.hpp"
#include "unibuf/transfer_cost.hpp"

namespace unibuf::contract::stall_test {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr unsigned staging_blocks = driver::pinned_ring::blocks;
constexpr std::chrono::seconds long_enough(60);  // for a busy machine; nothing succeeds by waiting so long

bool has_pools() {
    int has = 0;
    ok(driver::api().cuDeviceGetAttribute(&has, driver::memory_pools_supported, 0));
    return has != 0;
}

/// A program that holds one stream back until the end of the test.
class stall_test : public cuda_test {
protected:
    void SetUp() override {
        cuda_test::SetUp();
        if (IsSkipped()) return;
        by_.emplace();
        held_ = by_->stream();
        free_ = by_->stream();
    }

    void hold_back() { gate_.emplace(*by_, held_); }
    void let_go() { gate_.reset(); }

    /// Does `work` on another thread, while the stream is held back. Returns whether that came to an end.
    template <class Work>
    bool comes_to_an_end(Work work) {
        hold_back();
        std::future<void> done = std::async(std::launch::async, [&] {
            const program here;
            work();
        });
        const bool ended = done.wait_for(long_enough) == std::future_status::ready;
        let_go();
        done.get();
        return ended;
    }

    /// Does `first`, which is stopped by the stream that is held back, and then `second` while that is so.
    template <class First, class Second>
    void beside(First first, const char* calls, Second second) {
        hold_back();
        if (cuda_double::loaded()) cuda_double::loaded()->reset();
        const auto start = [](auto work) {
            return std::async(std::launch::async, [work] {
                const program here;
                work();
            });
        };
        std::future<void> stopped = start(first);
        if (cuda_double::loaded()) {
            while (cuda_double::loaded()->calls(calls) < staging_blocks) std::this_thread::yield();
        }
        std::future<void> other = start(second);
        EXPECT_EQ(other.wait_for(long_enough), std::future_status::ready);
        let_go();
        stopped.get();
        other.get();
    }

    queue on(stream_handle stream) const { return cuda::queue_of(stream); }

    std::optional<program> by_;
    std::optional<gate> gate_;
    stream_handle held_ = nullptr;
    stream_handle free_ = nullptr;
};

/// What transfers cost was once measured within such an access, after all work of the device.
TEST_F(stall_test, parts_on_another_stream_wait_for_nothing) {
    buffer many = mirrored(mebibyte);
    host_writes(many, noise(mebibyte));
    many.read(where_, {.on = on(free_)}).release();
    for (std::size_t i = 0; i != 4; ++i) many.write(host, {.offset = i * 8192, .count = 100}).release();
    EXPECT_TRUE(comes_to_an_end([&] { many.read(where_, {.on = on(free_)}).release(); }));
}

TEST_F(stall_test, costs_are_measured_beside_work) {
    if (!has_pools()) GTEST_SKIP() << "this driver waits for all work where memory is freed";
    EXPECT_TRUE(comes_to_an_end([&] { transfer_cost_of(where_); }));
}

TEST_F(stall_test, a_long_write_stops_no_other_thread) {
    buffer longer = mirrored(32 * mebibyte);
    buffer shorter = mirrored(200'000);
    host_writes(longer, noise(32 * mebibyte));
    host_writes(shorter, noise(200'000));
    beside([&] { longer.read(where_, {.on = on(held_)}).release(); }, "cuMemcpyHtoDAsync",
           [&] { shorter.read(where_, {.on = on(free_)}).release(); });
    EXPECT_TRUE(same(host_reads(longer), noise(32 * mebibyte)));
}

TEST_F(stall_test, a_long_read_stops_no_other_thread) {
    const auto longer = device().allocate({.bytes = 32 * mebibyte});
    const auto shorter = device().allocate({.bytes = 2 * mebibyte});
    put(*longer, 0, noise(32 * mebibyte));
    put(*shorter, 0, noise(2 * mebibyte));
    bytes long_copy(32 * mebibyte);
    bytes short_copy(2 * mebibyte);
    beside([&] { longer->read(0, long_copy, on(held_)).wait(); }, "cuMemcpyDtoHAsync",
           [&] { shorter->read(0, short_copy, on(free_)).wait(); });
    EXPECT_TRUE(same(long_copy, noise(32 * mebibyte)));
    EXPECT_TRUE(same(short_copy, noise(2 * mebibyte)));
}

/// The double takes more of them than there is pinned memory for. A real driver takes so many, and then stops the host.
TEST_F(stall_test, short_writes_do_not_wait_for_their_stream) {
    constexpr std::size_t size = 60'000;
    constexpr std::size_t that_fit = staging_blocks * (driver::pinned_ring::block_bytes / size);
    const std::size_t count = cuda_double::loaded() ? 400 : that_fit;
    std::vector<std::unique_ptr<backends::memory>> all;
    for (std::size_t i = 0; i != count; ++i) all.push_back(device().allocate({.bytes = size}));
    std::vector<fence> written;
    EXPECT_TRUE(comes_to_an_end([&] {
        for (unsigned i = 0; i != all.size(); ++i) written.push_back(all[i]->write(0, noise(size, i), on(held_)));
    }));
    for (const fence& each : written) each.wait();
    for (unsigned i = 0; i != all.size(); ++i) EXPECT_TRUE(same(get(*all[i], 0, size), noise(size, i))) << i;
}

/// Pageable bytes have been taken from the host before the stream comes to the copy.
TEST_F(stall_test, the_host_writes_again_what_has_been_taken) {
    constexpr std::size_t size = 60'000;
    buffer used = mirrored(size);
    buffer seen = mirrored(size);
    for (buffer* const each : {&used, &seen}) {
        host_writes(*each, noise(size));
        each->read(where_, {.on = on(free_)}).release();
    }
    EXPECT_TRUE(comes_to_an_end([&] {
        host_writes(used, noise(size, 1));
        {
            const auto from = used.read(where_, {.on = on(held_)});
            const auto to = seen.write(where_, {.on = on(held_)});
            by_->copy(held_, address_of(to), address_of(from), size);
        }
        host_writes(used, noise(size, 2));
    }));
    EXPECT_TRUE(same(host_reads(seen), noise(size, 1)));
    used.read(where_).release();
    EXPECT_TRUE(same(host_reads(used), noise(size, 2)));
}

class stall_on_the_double : public stall_test {
protected:
    void SetUp() override {
        stall_test::SetUp();
        if (!IsSkipped() && !cuda_double::loaded()) GTEST_SKIP() << "a real driver is not told what to do";
    }
    void TearDown() override {
        if (cuda_double::loaded()) cuda_double::loaded()->reset();
        stall_test::TearDown();
    }
};

/// Where memory is short, the driver would let an allocation wait for memory that is freed behind all work.
TEST_F(stall_on_the_double, an_allocation_that_finds_no_room_fails) {
    if (!has_pools() || stops_the_host_for_all())
        GTEST_SKIP() << "this driver waits for all work where memory is freed";
    const cuda_double::control& control = *cuda_double::loaded();
    control.set_hostile(true);
    device().trim();
    const std::uint64_t held = memory_of(where_).total - memory_of(where_).free.value();
    std::optional<buffer> gone = mirrored(8 * mebibyte);
    const native_memory handle = gone->device();
    control.limit_device_memory(held + 9 * mebibyte);
    error_code found{};
    EXPECT_TRUE(comes_to_an_end([&] {
        by_->set(held_, address_of(handle), 1, 100);
        gone.reset();
        found = code_of([&] { device().allocate({.bytes = 8 * mebibyte}); });
    }));
    EXPECT_EQ(found, error_code::out_of_memory);
    EXPECT_NO_THROW(device().allocate({.bytes = 8 * mebibyte}));
}

TEST_F(stall_on_the_double, an_allocation_shares_no_queue_with_the_program) {
    if (!has_pools()) GTEST_SKIP() << "this driver waits for all work where memory is freed";
    cuda_double::loaded()->share_queues(1);
    EXPECT_TRUE(comes_to_an_end([&] { device().allocate({.bytes = mebibyte}); }));
}

/// A transfer is done when a later one of the same bytes is: each round asks about few of them.
TEST_F(stall_on_the_double, uploads_that_follow_each_other_are_not_asked_about_one_by_one) {
    constexpr unsigned rounds = 100;
    buffer used = mirrored(1000);
    host_writes(used, noise(1000));
    used.read(where_, {.on = on(free_)}).release();
    cuda_double::loaded()->reset();
    EXPECT_TRUE(comes_to_an_end([&] {
        for (unsigned i = 0; i != rounds; ++i) {
            host_writes(used, noise(1000, i));
            used.read(where_, {.on = on(held_)}).release();
        }
    }));
    EXPECT_LT(cuda_double::loaded()->calls("cuEventQuery"), 10 * rounds);
    EXPECT_TRUE(same(host_reads(used), noise(1000, rounds - 1)));
}

/// Returns the time for which this thread had a core.
std::chrono::nanoseconds time_of_thread() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// A long wait leaves the core to others.
TEST_F(stall_test, long_waits_sleep) {
    constexpr std::chrono::milliseconds wait(300);
    hold_back();
    const fence done = device().record(cuda::queue_of(held_));
    const std::chrono::nanoseconds before = time_of_thread();
    EXPECT_FALSE(done.wait(wait));
    EXPECT_LT(time_of_thread() - before, wait / 2);
    std::future<std::chrono::nanoseconds> waits = std::async(std::launch::async, [&] {
        done.wait();
        return time_of_thread();
    });
    std::this_thread::sleep_for(wait);
    let_go();
    EXPECT_LT(waits.get(), wait / 2);
}

}  // namespace
}  // namespace unibuf::contract::stall_test
