// backends/poll.hpp: waiting with a timeout, for APIs that only tell whether something is done.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace unibuf::backends {

/// Asks `done` again and again, for at most `timeout`, in naps that get longer: a short wait ends soon, a long one
/// costs little. Returns what `done` answered last.
template <class Done>
bool poll(std::chrono::nanoseconds timeout, Done done) {
    using clock = std::chrono::steady_clock;
    if (done()) return true;
    const auto begin = clock::now();
    std::chrono::nanoseconds nap = std::chrono::microseconds(5);
    for (;;) {
        const auto left = timeout - (clock::now() - begin);
        if (left <= std::chrono::nanoseconds::zero()) return timeout > std::chrono::nanoseconds::zero() && done();
        std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(nap, left));
        if (done()) return true;
        nap = std::min<std::chrono::nanoseconds>(nap * 2, std::chrono::milliseconds(1));
    }
}

}  // namespace unibuf::backends
