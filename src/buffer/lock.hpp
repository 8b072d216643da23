// buffer/lock.hpp: the one way to what a buffer guards, and the one way to wait for a change of it.
#pragma once

#include <mutex>
#include <string>

#include "buffer/core.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

/// Holds the lock of a buffer, with its gate shut. Its end opens the gate as far as the state allows.
class lock {
public:
    explicit lock(core& of);
    ~lock();
    lock(const lock&) = delete;
    lock& operator=(const lock&) = delete;

    core& of() const noexcept { return core_; }
    guarded* operator->() const noexcept { return &core_.state_; }

    /// Waits until some hold has ended, at the latest until the deadline, after which it returns false. A thread that a
    /// device needs does the work of others meanwhile: this thread may be waiting for them.
    bool wait_for_change(clock::time_point deadline);

    /// Waits until done() holds. Throws error(timeout) with what() after the deadline.
    template <class Done, class What>
    void wait_until(Done done, clock::time_point deadline, What what) {
        for (bool in_time = true; !done(); in_time = wait_for_change(deadline)) {
            if (!in_time) throw error(error_code::timeout, what());
        }
    }

    /// Lets go of the lock for a while. A hold of the caller keeps the gate shut meanwhile.
    class pause {
    public:
        explicit pause(lock& of) : mutex_(of.mutex_) { mutex_.unlock(); }
        ~pause() { mutex_.lock(); }
        pause(const pause&) = delete;
        pause& operator=(const pause&) = delete;

    private:
        std::unique_lock<std::mutex>& mutex_;
    };

    /// Returns whether the last handle has gone, and no lease is left that would destroy the buffer.
    bool is_last() const noexcept;

    /// Lets the end of the last lease destroy the buffer from now on. Returns false where nobody holds a lease.
    bool leave_to_leases() noexcept;

private:
    void open_gate() noexcept;

    core& core_;
    std::unique_lock<std::mutex> mutex_;
};

}  // namespace unibuf::detail
