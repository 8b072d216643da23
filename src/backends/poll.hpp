// backends/poll.hpp: waiting for what may fail, only tells whether it is done, or is done before a thread has slept.
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

#include "unibuf/fence.hpp"

namespace unibuf::backends {

/// Leaves the core to its other thread for a moment, which may be the one that does the work.
inline void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

/// About as long as a thread takes to fall asleep and to be woken up: a shorter wait stays awake.
inline constexpr std::chrono::microseconds waking(50);

/// Asks `done` again and again for so long. Returns what it answered last. Where the thread that does the work waits
/// for the same core, it gets that core at once.
template <class Done>
bool is_done_soon(Done done, std::chrono::nanoseconds soon = waking) {
    using clock = std::chrono::steady_clock;
    if (done()) return true;
    for (const auto end = clock::now() + soon; clock::now() < end;) {
        for (int i = 0; i < 4; ++i) pause();  // 0.2 us on some processors
        if (done()) return true;
        std::this_thread::yield();
    }
    return false;
}

/// Asks `done` again and again, for at most `timeout`: `awake` at first, and then in naps of a sixteenth of the time
/// that has passed, so that a wait takes little longer than the work, and a long one costs little. Returns what `done`
/// answered last.
template <class Done>
bool poll(std::chrono::nanoseconds timeout, Done done, std::chrono::nanoseconds awake = waking) {
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    if (is_done_soon(done, std::min(timeout, awake))) return true;
    constexpr std::chrono::nanoseconds longest_nap = std::chrono::milliseconds(1);
    for (;;) {
        const std::chrono::nanoseconds passed = clock::now() - begin;
        const std::chrono::nanoseconds left = timeout - passed;
        if (left <= std::chrono::nanoseconds::zero()) return timeout > std::chrono::nanoseconds::zero() && done();
        std::this_thread::sleep_for(
            std::min(std::clamp(passed / 16, std::chrono::nanoseconds(waking), longest_nap), left));
        if (done()) return true;
    }
}

/// Waits for at most `timeout`. Returns whether the work is done or has failed: it uses nothing any more.
inline bool is_over(const fence& work, std::chrono::nanoseconds timeout = {}) noexcept {
    try {
        return work.wait(timeout);
    } catch (const std::exception&) {
        return true;
    }
}

}  // namespace unibuf::backends
