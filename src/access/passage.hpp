// access/passage.hpp: the one way through an access. Every verb that brings content is a request to it.
//
// The order is the design:
//   ask          the holders of views that the host may write through are asked to end them, with the lock released
//   enter        wait until no hold excludes the access, make the copy where there is none, and make the memory the
//                space's where two devices use it by turns; each of these may let go of the lock, so all are looked at
//                again until none has to wait
//   pause        make standing holds elsewhere quiet, in just the bytes that are asked for
//   refuse       is a standing hold broken, or would a graph that uploads, or I/O at the host, overwrite what is
//                written?
//   follow       ask the processes that have the host's copy too, and learn what they may have written
//                (a mark of the default device, where that is the host, is refused here if another may be meant)
//   find         tell the directory what the program wrote at the host through pointers: what moves depends on it
//   check        is anything lost or contested? Until here no content has changed but what was found; a copy may have
//                been made, memory may have changed hands, and standing holds may be paused
//   plan         coherence says which steps it takes; guards may refuse them. After this only steps can fail, and what
//                the promise and the verb need memory for
//   prepare      before a device writes: what the host stores in the part from now on is a conflict
//   promise      the directory promises that what is done can be noted without memory
//   carry out    steps are done without the lock, behind a claim; each that is done is told to the directory at once,
//                so that after a failure it is as before, or better
//   grant        the verb makes of it what it is for: a lease, a pointer, a mark
#pragma once

#include <optional>

#include "access/access_request.hpp"
#include "access/lock.hpp"
#include "access/transfers.hpp"
#include "coherence/plan.hpp"

namespace unibuf::detail {

/// One access, from entering to granting. The buffer's lock is held when a function of it returns; the claim stays
/// until the passage goes.
class passage {
public:
    /// Goes through the stages from `ask` to `check`. Throws error(access_conflict), error(timeout),
    /// error(not_allocated), error(invalid_argument), error(transfer_failed) where bytes are lost, what a backend
    /// throws where a copy is made, and what queued work has failed with.
    passage(lock& locked, const access_request& request);

    /// Plans, and carries out.
    void bring();

    /// Asks the guards of this thread what bring() would ask them, and bring() asks them no more.
    void ask_guards();

    /// Adds the steps that bring() would carry out to `to`, for who carries them out: see access/joint_transfer.hpp.
    void plan(coherence::steps& to);

    /// Takes the claim, which keeps others off while the lock is let go, until the passage goes.
    void keep_others_off();

    detail::claim& own_claim() noexcept { return transfers_.own_claim(); }

    /// Repeats `pattern` over the bytes of the access, which has been brought, and makes that the newest content.
    void fill(std::span<const std::byte> pattern);

    /// Returns the copy at the space of the access; null where that copy is to be dropped, and there is none.
    copy* at() const noexcept { return lock_->copies.find(request_.where.id()); }
    space where() const noexcept { return request_.where; }

    /// Returns event::time of what bring() has recorded; 0 where it has not.
    std::uint64_t recorded_at() const noexcept { return recorded_at_; }

private:
    void ask();
    void enter();
    void choose_place();
    void pause();
    void refuse() const;
    void follow(const access_request& as_made);
    void check_default() const;
    void find();
    void check() const;
    void forget_done() noexcept;

    lock& lock_;
    access_request request_;
    transfers transfers_;
    std::optional<promise> promise_;  // for what is done, from the plan on
    std::uint64_t recorded_at_ = 0;
};

/// Waits for all work that is queued on bytes of `part`, for an access: of the part that it asks for, or of all room
/// where a copy's memory is about to go.
void wait_for_all_work(lock& locked, const region& part, const access_request& request);

/// Tells the directory what the program wrote at the host through pointers.
void find_host_writes(lock& locked, const access_request& request);

/// Adds the steps that grant a request to `to`.
void plan_for(const guarded& state, const access_request& request, const region& part, coherence::steps& to);

/// Tells the directory that the space `where`, which has a copy, holds the newest content of `part` from now on.
void now_written(guarded& state, const promise& in, const region& part, space where) noexcept;

/// Notes that the space of the access is about to overwrite the bytes of it: see coherence/transitions.hpp. REQUIRES:
/// they are claimed or leased.
void about_to_overwrite(guarded& state, const promise& in, const access_request& request) noexcept;

/// Prepares `part` before a device becomes the only one that is current in it: what the host writes there later is a
/// conflict, but for a part that is scattered. `joint` tells of a joint access.
void before_device_writes(guarded& state, const region& part, space where, bool joint = false);

/// Throws error(invalid_argument) where the host's access mode that the buffer was created with is against the access.
void check_allowed(const core& of, const access_request& request);
void check_host_may(const core& of, access what);
void check_constant(const core& of, const access_request& request);

/// Throws error(invalid_argument) where the access would write what is constant.
inline void check_content_may_change(const core& of, const access_request& request) {
    if (of.options().access == host_access::constant) check_constant(of, request);
}
void check_not_lost(guarded& state, const access_request& request);
void check_not_contested(const guarded& state, const access_request& request);

/// Throws error(access_conflict) for a write elsewhere than at the host of bytes that graphs upload from there, or that
/// an io_view is out of.
void check_may_leave_host(const guarded& state, const access_request& request);

}  // namespace unibuf::detail
