// unibuf/waiting.hpp: how long calls wait for others, and who may end a wait before its time.
#pragma once

#include <chrono>

#include "unibuf/export.hpp"

namespace unibuf {

namespace detail {
struct wait_limit;
}

/// Sets how long the calls of this process wait that name no timeout, or `forever`: for accesses of other threads that
/// exclude them, and for work that is queued. After that they throw error(timeout), and no content has changed. It is
/// `forever` until this is called. Throws error(invalid_argument) for a negative time.
UNIBUF_API void set_default_timeout(std::chrono::nanoseconds timeout);
UNIBUF_API std::chrono::nanoseconds default_timeout() noexcept;

/// Lets somebody end the waits of this thread's calls, as long as this lives: a language that has signals of its own,
/// or a task that may be cancelled. Where such a call waits, for accesses of other threads, for memory or for work that
/// is queued, it asks some ten times a second; where it moves much, between parts of 64 MiB. What `ask` throws, the
/// call throws: the parts that have arrived stay, and no other content has changed. The ends of leases, of views and of
/// buffers wait without asking.
///
/// `ask` is called on this thread, with no lock of the library held. It must not use buffers that the call is about.
/// While one of these lives, calls of the thread let no device order a transfer behind queued work: they wait for that
/// work first.
class UNIBUF_API interruptible {
public:
    explicit interruptible(void (*ask)(void* context), void* context = nullptr) noexcept;
    ~interruptible();
    interruptible(const interruptible&) = delete;
    interruptible& operator=(const interruptible&) = delete;

private:
    friend struct detail::wait_limit;

    void (*ask_)(void*);
    void* context_;
    const interruptible* before_;  // what the thread had before this one
    mutable std::chrono::steady_clock::time_point asks_next_;
};

}  // namespace unibuf
