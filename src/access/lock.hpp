// access/lock.hpp: the one way to change what a buffer guards, and the one way to wait for a change of it.
//
// What always holds:
//  1. While somebody has the lock, the gate is shut: gate::by_lock is set in `solo`, and `ready` is 0.
//  2. Whoever lets go of the lock within an access (`released`, wait_for_change) has a claim or counts in
//     guarded::waiting, so that no other thread's lock opens the gate meanwhile. All that was looked up before is
//     looked up again after: holds come and go, copies are added, and the one that was looked at may have been freed
//     unless a claim, a lease or queued work names it. The type says which functions may do so: they take `lock&`. A
//     function that takes `guarded&` cannot, and what was looked up before it stands after it.
//  3. At the end of the lock, bytes that nobody has go back to standing holds. That may let go of the lock again, so
//     whoever ends a lock keeps a handle of the buffer, or a lease, until the lock has gone.
//  4. Whoever changes what others may wait for calls tell_waiting.
//  5. The program's code (holders of views and of standing holds) is called with the lock released. A transfer_observer
//     alone is called under it, and may not touch the buffer.
#pragma once

#include <cassert>
#include <mutex>
#include <string>

#include "buffer/core.hpp"
#include "trace/recorder.hpp"
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
    // REQUIRES: nobody has let go of it.
    guarded* operator->() const noexcept { return &**this; }
    guarded& operator*() const noexcept {
        assert(mutex_.owns_lock());
        return core_.state_;
    }

    /// Waits until somebody tells of a change, or for a moment, within `limit`, after which it returns false. A thread
    /// that a device needs does the work of others meanwhile: this thread may be waiting for them.
    bool wait_for_change(const wait_limit& limit);

    /// Waits until done() holds. Throws error(timeout) with what() at the end of `limit`.
    template <class Done, class What>
    void wait_until(const Done& done, const wait_limit& limit, const What& what) {
        for (bool in_time = true; !done(); in_time = wait_for_change(limit)) {
            if (!in_time) throw error(error_code::timeout, what());
        }
    }

    /// Lets go of the lock as long as this lives. REQUIRES: a hold of the caller, or guarded::waiting, keeps the gate
    /// shut meanwhile.
    class released {
    public:
        explicit released(lock& of) : mutex_(of.mutex_) {
            assert(of->waiting != 0 || !of->holds.none_by_lock());
            of.recorded.time = 0;
            mutex_.unlock();
        }
        ~released() { mutex_.lock(); }
        released(const released&) = delete;
        released& operator=(const released&) = delete;

    private:
        std::unique_lock<small_mutex>& mutex_;
    };

    // The gate of a lease's begin is set again at its end, with nothing found out anew, where no lock came in between.
    /// Notes that the lease that is added now changes nothing that the gate says.
    void lease_keeps_gate() noexcept {
        core_.state_.gate_before_lease = core_.state_.waiting == 0 ? gate_at_begin_ : 0;
    }
    /// Notes that the lease that ends now has left nothing behind.
    void lease_leaves_nothing() noexcept { gate_at_end_ = gate_before_lease_; }

    /// When and from where something was recorded under this lock; without its time where the lock was let go of since.
    trace::moment recorded;

    /// Returns whether the last handle has gone, and no lease is left that would destroy the buffer.
    bool is_last() const noexcept;

private:
    void open_gate() noexcept;
    void let_pass(std::uint32_t ready) noexcept;

    core& core_;
    std::unique_lock<small_mutex> mutex_;
    // Each of these is gate::ready and `is_found`; 0 where what the gate may say has to be found out.
    static constexpr std::uint32_t is_found = std::uint32_t{1} << 31;
    std::uint32_t gate_at_begin_ = 0;      // what the gate said when this lock was taken; 0 where device_ready was set
    std::uint32_t gate_at_end_ = 0;        // what it is to say when this lock ends
    std::uint32_t gate_before_lease_ = 0;  // what lease_keeps_gate() noted under the lock before this one
};

}  // namespace unibuf::detail
