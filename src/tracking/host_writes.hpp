// tracking/host_writes.hpp: what the program writes through pointers into the host's copy, found and told to the
// directory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "coherence/directory.hpp"
#include "coherence/held_ranges.hpp"
#include "tracking/digests.hpp"
#include "tracking/findings.hpp"
#include "tracking/policy.hpp"
#include "tracking/units.hpp"
#include "tracking/watch.hpp"
#include "unibuf/options.hpp"

namespace unibuf::detail {

/// Finds the host writes to one buffer, from its first pointer on. Not thread-safe: the buffer's lock guards it.
class host_writes {
public:
    /// `writers` are the pointers and views that are out. What was written through some that have ended is found by the
    /// next access of those bytes, and then the directory knows that they have ended. `by` is null where writes are not
    /// found: then the host is taken for written, but for blocks that are as they were sent. `buffer` is the name that
    /// a trace has for all this.
    host_writes(coherence::directory& known, const held_ranges& writers, std::span<std::byte> host,
                std::unique_ptr<tracking::watch> by, std::uint64_t buffer = 0);

    /// A region with more runs than these is not watched run by run: see is_scattered().
    static inline constinit std::atomic<std::size_t> most_runs = 64;

    /// Returns whether the region has so many runs that its pages are not watched one by one: what pointers may write
    /// there is assumed.
    static bool is_scattered(const region& part) noexcept {
        return part.runs() > most_runs.load(std::memory_order_relaxed);
    }

    /// Notes that pointers into `part`, of which the host's copy is current, are given out. `untouched` says that
    /// nobody has written that copy since it was allocated, and that it was zero then.
    void expose(const region& part, bool untouched);

    /// Notes that what no page table shows may write `part`, of which the host's copy is current, until the view among
    /// the writers that says so has ended: it is taken for written all the time.
    void expose_unseen(const region& part);

    /// Notes that pages may be there though the program has not written them: the memory was used before, or pinned.
    /// Bytes that nobody has written are zero.
    void memory_was_used() noexcept {
        used_ = true;
        if (watch_) watch_->was_used();
    }

    // Between these two a driver may fault pages in for writing, as it pins them. Which of them the program has written
    // is not known then: where the host is current they count as written, elsewhere as not.
    void begin_pinning();
    void end_pinning() noexcept;

    /// Contents may be compared by digest from now on, where writes are not found.
    void allow_digests() noexcept { may_digest_ = true; }
    bool compares_by_digest() const noexcept { return may_digest_ && !watch_; }

    // These are for moves from the host to `device`, where contents are compared by digest.

    /// Returns the blocks of `part` of which digests are to be kept as they are sent, by copy_with_digests.
    byte_ranges digested(const region& part, coherence::space_id device) noexcept;

    /// Copies `blocks`, and keeps the digests of the copy. Returns false where others have got something else: then no
    /// digest tells whether the program has written them.
    bool copy_with_digests(byte_range blocks, std::byte* to);

    /// Notes that bytes have arrived at the device after so long, in so many pieces; `digested` says that digests of
    /// them were kept.
    void was_sent(coherence::space_id device, std::size_t bytes, std::size_t pieces, std::chrono::nanoseconds took,
                  bool digested) noexcept;

    /// Notes that all has been sent that the last find() has found.
    void end_sending() noexcept { may_be_written_ = {}; }

    /// Returns whether writes are found; where they are not, the host is taken for written.
    bool finds_writes() const noexcept { return watch_ != nullptr; }

    /// Notes that bytes that nobody has written have no value that a write could leave as it was.
    void values_are_unknown() noexcept { values_known_ = false; }

    /// Notes that the host has become current in some of `range`, for which find() was called. Bytes of it that
    /// pointers hold are exposed again.
    void expose_again(byte_range range);

    /// Returns true where it is known at small cost that nothing of `range` was written since it was looked at last.
    bool is_unwritten(byte_range range) {
        const bool simple = watch_ && watch_->compares_all() && known_.is_one() && known_.first().watched() &&
                            found_.empty() && writers_.for_good(range);
        return simple && !watch_->any_written(range);
    }

    /// Tells the directory, before an access, what was written of `ranges` until now. For an access that is not at the
    /// host it also settles what is watched until the next one; that watch begins now, before any byte is copied.
    void find(const byte_ranges& ranges, space where, access what);

    /// Returns what a write to `range` may be found by: all units that it has a byte of.
    byte_range around(byte_range range) const noexcept { return watch_ ? units_.around(range) : range; }

    /// Returns the units whose contents find() may compare for `range`, or keep to compare them later.
    byte_ranges compared(byte_range range) const;

    // What is found by comparing is sent as it was compared: a store that comes before the bytes are taken, and is
    // taken back later, would be in the device's copy and be found by nobody.

    /// Returns whether bytes of `range` are to be sent from their image.
    bool has_image(byte_range range) const;

    /// Returns the bytes of `range` that are to be sent from their image.
    byte_ranges imaged(byte_range range) const;

    /// Returns `range` as it is to be sent, which stays so; null where it has to be copied for that.
    std::shared_ptr<const std::byte> image(byte_range range) const;

    /// Copies `range` as it is to be sent.
    void copy_as_sent(byte_range range, std::byte* to) const;

    /// Notes that `part`, which is to be sent from images, is about to be sent as it is in the memory. What the host is
    /// still current in at the next look counts as written.
    void send_as_it_is(const byte_ranges& part) { found_.doubt(part); }

    /// Returns the directory as it would be now, with the writes everywhere found.
    coherence::directory look();

    /// Prepares a part that is scattered, before the host writes it, or a device that shares the memory; what was found
    /// until now has been told. Bytes among it that a device has newer are not watched from now on.
    void before_scattered_writes(const region& part);

    /// Prepares `part`, before a device becomes the only one that is current in it; what was found until now has been
    /// told. Writes of the host are conflicts from now on, but where the part is scattered.
    void before_device_writes(const region& part);

    /// Notes that a device that shares the memory writes `part`: nobody can tell the host's writes from its own there.
    void stop_watching(const coherence::directory::promise& in, const region& part) noexcept;

    /// Notes that what before_device_writes prepared has come to pass: a device has newer content in all of `part`. It
    /// never comes where the access is refused; then all that was known before is still known.
    void device_has_written(const region& part) noexcept;

    /// Returns which rule is broken, or null. What is watched has a watch. A unit of which a device has newer content
    /// in some watched bytes, and the host in others, is compared, to tell in which ones the program has written.
    const char* broken_rule() const;

    // Between these two, whoever has the right to write `runs` at the host may let system calls do it. The first
    // returns false where nothing has to be done for that, and the second is not to be called.
    bool let_kernel_write(const byte_ranges& runs) const;
    void end_kernel_write(const byte_ranges& runs) const;

    /// Forgets what was written of `part` until now: somebody has said what stands.
    void forget(const region& part);

    /// While this lives, unibuf itself writes `part` of the host's copy: that is not taken for the program's writes,
    /// and the program's own beside it are not lost. Where the part is scattered, all from its first byte to its last
    /// is not watched from now on: what was written there is assumed.
    class own_write {
    public:
        own_write(host_writes& in, const region& part);
        own_write(host_writes& in, byte_ranges runs);  // they stay watched, however many there are
        ~own_write();
        own_write(own_write&& other) noexcept;
        own_write& operator=(own_write&& other) noexcept;

    private:
        void begin(host_writes& in, byte_ranges runs);
        void begin();
        void end() noexcept;

        host_writes* in_ = nullptr;
        byte_ranges runs_;
        byte_ranges inner_;    // units that are not watched meanwhile
        bool opened_ = false;  // for system calls
        byte_ranges edges_;    // compared units at the ends of the runs, which have other bytes too
    };

private:
    void expose(const byte_ranges& ranges, bool untouched);
    void find_in(byte_range range, space where, access what);
    void assume(byte_range range);
    using look_for = tracking::kernel::look_for;
    void scan(const byte_ranges& ranges, look_for what = look_for::written_and_protect);
    void collect(byte_range range, look_for what = look_for::written_and_protect);
    bool is_all_assumed(byte_range range) const;
    byte_ranges told_apart(byte_range range) const;
    void keep_found();
    void tell_found(byte_range range);
    void take_for_written(byte_range range);
    void end_unheld(byte_range range);
    void find_untracked(byte_range range, space where, access what);
    byte_ranges as_sent(byte_range range, coherence::space_id device);
    void decide_sections(byte_range range, const byte_ranges& found);
    void decide(byte_range in, std::size_t written);
    void watch_fresh(byte_range in);
    void arm(const byte_ranges& ranges);
    void compare(byte_range unit);
    void compare_ends(byte_range range);
    void leave_to_kernel(byte_range range);
    void expect_no_more(byte_range range) noexcept;

    bool watches_any_of(byte_range range) const {
        return watch_ && !range.empty() && known_.any(units_.around(range), &coherence::knowledge::watched);
    }

    void give_up();

    coherence::directory& known_;
    const held_ranges& writers_;
    std::span<std::byte> host_;
    std::unique_ptr<tracking::watch> watch_;
    std::uint64_t buffer_;
    tracking::units units_;
    bool values_known_ = true;
    bool pinning_ = false;  // a driver may be faulting pages in for writing
    bool used_ = false;     // the memory was used before the first pointer
    tracking::findings found_;
    byte_ranges
        watched_later_;       // written by a device that shares the memory: writes are found once the host has seen it
    byte_ranges arriving_;    // unibuf itself is writing it, in units that are compared or not watched meanwhile
    byte_ranges newer_soon_;  // a device is about to have newer content there
    tracking::sections sections_;
    std::unique_ptr<tracking::digests> digests_;  // made for the first transfer whose time is known
    bool may_digest_ = false;
    byte_ranges may_be_written_;  // through pointers, for all that is known: about to be sent, and worth a digest
};

}  // namespace unibuf::detail
