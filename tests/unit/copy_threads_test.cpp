// tests/unit/copy_threads_test.cpp: copies that threads share are whole, whether the threads are awake or asleep.
#include "backends/cuda/copy_threads.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "support/bytes.hpp"

namespace unibuf::test::copy_threads_test {
namespace {

using backends::cuda::copy_threads;

constexpr std::size_t size = 1'000'003;

/// Copies with all threads, and returns whether the copy is whole.
bool is_copied_by(copy_threads& threads, unsigned seed) {
    const bytes source = noise(size, seed);
    bytes got(size);
    threads.split(size, [&](std::size_t begin, std::size_t end) {
        std::memcpy(got.data() + begin, source.data() + begin, end - begin);
    });
    return got == source;
}

TEST(copy_threads_of_a_device, copy_again_and_again) {
    for (const std::size_t count : {1U, 2U, 5U}) {
        copy_threads threads(count);
        for (unsigned i = 0; i != 30; ++i) EXPECT_TRUE(is_copied_by(threads, i)) << count;
    }
}

TEST(copy_threads_of_a_device, wake_up) {
    copy_threads threads(4);
    for (unsigned i = 0; i != 10; ++i) {
        EXPECT_TRUE(is_copied_by(threads, i));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // they have fallen asleep, or are about to
    }
}

TEST(copy_threads_of_a_device, end_asleep_and_awake) {
    for (unsigned i = 0; i != 20; ++i) {
        copy_threads threads(4);
        EXPECT_TRUE(is_copied_by(threads, i));
        if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

/// One has the helpers; the others do without.
TEST(copy_threads_of_a_device, serve_callers_that_come_at_once) {
    copy_threads threads(3);
    std::vector<std::thread> callers;
    for (unsigned caller = 0; caller != 4; ++caller) {
        callers.emplace_back([&threads, caller] {
            for (unsigned i = 0; i != 10; ++i) EXPECT_TRUE(is_copied_by(threads, 100 * caller + i));
        });
    }
    for (std::thread& each : callers) each.join();
}

}  // namespace
}  // namespace unibuf::test::copy_threads_test
