// memory/wait_limit.hpp: how long an access waits for others, and who may end its waits.
#pragma once

#include <atomic>
#include <chrono>

#include "unibuf/fence.hpp"
#include "unibuf/waiting.hpp"

namespace unibuf::detail {

using clock = std::chrono::steady_clock;

/// Whom calls of this thread ask whether to go on with a wait; null for nobody. No thread looks while `askers`, how
/// many there are in all, is 0: most programs have none.
inline constinit thread_local const interruptible* asked_by_calls = nullptr;
inline constinit std::atomic<int> askers = 0;

/// How long calls wait that name no timeout.
inline constinit std::atomic<std::chrono::nanoseconds> usual_timeout{forever};

struct wait_limit {
    clock::time_point until = clock::time_point::max();
    const interruptible* by = nullptr;  // who is asked now and then whether to go on; null for nobody

    /// Returns the limit of a call of this thread that names `timeout`, which is not negative.
    static wait_limit of_call(std::chrono::nanoseconds timeout = forever) {
        if (timeout == forever) timeout = usual_timeout.load(std::memory_order_relaxed);
        return {.until = timeout == forever ? clock::time_point::max() : after(timeout),
                .by = askers.load(std::memory_order_relaxed) == 0 ? nullptr : asked_by_calls};
    }

    bool is_endless() const noexcept { return until == clock::time_point::max() && !by; }
    bool has_passed() const noexcept { return until != clock::time_point::max() && clock::now() >= until; }

    /// Returns when a wait has to look up from waiting at the latest.
    clock::time_point next_look() const noexcept;

    /// Asks whether to go on, where it is time to. No lock is held. Throws where not.
    void ask() const;

private:
    static clock::time_point after(std::chrono::nanoseconds timeout);
};

}  // namespace unibuf::detail
