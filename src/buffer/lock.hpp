// buffer/lock.hpp: the one way to what a buffer guards, and the one way to wait for a change of it.
#pragma once

#include <mutex>
#include <string>

#include "buffer/core.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

/// Holds the lock of a buffer, with its gate shut. When it goes, the gate opens as far as the state allows.
class lock {
public:
    explicit lock(core& of);
    ~lock();
    lock(const lock&) = delete;
    lock& operator=(const lock&) = delete;

    core& of() const noexcept { return core_; }
    guarded* operator->() const noexcept { return &core_.state_; }

    /// Waits until some hold has ended, at the latest until the deadline; false after it. On a thread that a device
    /// needs, work of others is done meanwhile: they may be who is waited for.
    bool wait_for_change(clock::time_point deadline);

    /// Waits until done() holds. Throws error(timeout) with what() after the deadline.
    template <class Done, class What>
    void wait_until(Done done, clock::time_point deadline, What what) {
        for (bool in_time = true; !done(); in_time = wait_for_change(deadline)) {
            if (!in_time) throw error(error_code::timeout, what());
        }
    }

    /// Lets go of the lock for a while, in which a hold of the caller keeps the gate shut.
    class pause {
    public:
        explicit pause(lock& of) : mutex_(of.mutex_) { mutex_.unlock(); }
        ~pause() { mutex_.lock(); }
        pause(const pause&) = delete;
        pause& operator=(const pause&) = delete;

    private:
        std::unique_lock<std::mutex>& mutex_;
    };

    /// Whether the last handle has gone, and nobody is left who would take the buffer along.
    bool is_last() const noexcept;

    /// From now on the end of the last lease takes the buffer along. False where nobody holds one.
    bool leave_to_leases() noexcept;

private:
    void open_gate() noexcept;

    core& core_;
    std::unique_lock<std::mutex> mutex_;
};

}  // namespace unibuf::detail
