// buffer/holds.hpp: who may touch which bytes of a buffer, and where: one table for each buffer.
//
// A hold is exclusive or undeclared. Leases, and claims of accesses that are under way, are exclusive: two that share a
// byte exclude each other, unless both are leases that only read. Undeclared holds may be used at any time, without a
// word: pointers, views, standing holds, and the uploads of graphs. They exclude nobody, but that bytes which graphs
// upload, and those of views for I/O, are written at the host alone. Queued work is what the lease of a device leaves
// behind.
//
// What always holds of a table (holds::broken_rule looks at 1 to 4, and debug builds ask after each operation):
//  1. Two leases that share a byte only read.
//  2. Two claims of different threads share no byte.
//  3. Exclusive holds, and the claims among them, are counted.
//  4. Standing holds that share a byte are at one space, or only read.
//  5. A view is counted as often as it was added and not ended; a pointer once, however often it was given out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "buffer/holds_by_space.hpp"
#include "buffer/named_queue.hpp"
#include "buffer/work_list.hpp"
#include "coherence/held_ranges.hpp"
#include "coherence/range_tree.hpp"
#include "coherence/region.hpp"
#include "coherence/spaces.hpp"
#include "unibuf/detail/gate.hpp"
#include "unibuf/detail/view_tag.hpp"
#include "unibuf/error.hpp"
#include "unibuf/holder.hpp"
#include "unibuf/options.hpp"
#include "unibuf/space.hpp"
#include "unibuf/standing_hold.hpp"

namespace unibuf::detail {

/// An exclusive hold.
struct hold {
    region part{};
    named_queue on{};
    std::uint32_t thread = 0;
    space where{};
    access what = access::read;
    bool claim : 1 = false;      // a claim of an access that is under way: it excludes readers too
    bool joint : 1 = false;      // a claim of one of several requests that are granted together
    bool starting : 1 = false;   // a lease of these, until what it writes is newest
    bool opened : 1 = false;     // of a lease: system calls can write its pages: see host_writes::let_kernel_write
    bool ended : 1 = false;      // of a lease that is starting: the program has ended it
    std::uint64_t taken_at = 0;  // of a lease: event::time of the access by which it was taken; 0 where there is none

    byte_range range() const noexcept { return part.hull(); }

    bool excludes(const region& other, access other_what) const noexcept {
        return part.overlaps(other) && (claim || what != access::read || other_what != access::read);
    }
};

/// A device may use the bytes at any time: see access/standing.hpp.
struct standing {
    std::uint64_t ticket = 0;
    region part{};
    space where{};
    access what = access::read;
    named_queue on{};
    std::shared_ptr<const standing_options> how{};
    byte_ranges paused{};        // bytes that the device gets back only when the hold is resumed
    holds_by_space pointed{};    // bytes of pointers elsewhere that have come since the hold began or was resumed
    byte_range maybe_written{};  // from the first to the last byte of pointers and views that have ended, unlooked at
    std::uint64_t began_at = 0;  // a ticket of that moment: views with a greater number keep bytes from the hold
    held_view* keeps_copy = nullptr;  // keeps the copy where it is
    std::optional<error> broken{};    // why bytes that were to be given back are paused
    bool told_to_pause = false;       // `how->pause` has been called, and `how->resume` not since
    bool resume_again = false;        // `how->resume` has thrown, or bytes cannot be given: both are tried again
    std::uint32_t caller = 0;         // thread that is calling `how->pause` or `how->resume` now
};

/// Returns whether a view keeps its bytes from a standing hold elsewhere: one that is newer than the hold, or than its
/// last resume(), and one of bytes that may be written unseen.
inline bool keeps_from(const held_view& view, const standing& of) noexcept {
    return view.unseen || view.number > of.began_at;
}

/// A graph of the program may copy the range from the host's memory to the copy at `where` at any time. Meanwhile the
/// bytes are written at the host alone: elsewhere a launch would overwrite them.
struct captured_upload {
    const held_view* of = nullptr;  // the program's view of the copy at `where`, until whose end this lasts
    byte_range range{};
    space where{};
    held_view* keeps_copy = nullptr;  // keeps the host's copy where it is
};

/// Returns "a write lease of bytes [0, 64) at host".
std::string describe(const hold& of);

/// The tag of a view has the address of what is held for it.
inline view_tag tag_of(const held_view& of) noexcept { return {.held = reinterpret_cast<std::uintptr_t>(&of)}; }
inline held_view& view_of(const view_tag& tag) noexcept { return *reinterpret_cast<held_view*>(tag.held); }

/// A holder of a view, who can be asked to let go of it.
struct named_holder {
    const held_view* of = nullptr;
    space where{};
    holder who{};
};

/// The table of one buffer. Not thread-safe: the buffer's lock guards it.
class holds {
public:
    /// The gate `of` has the one lease that is taken without the lock; the questions below count that lease, but for
    /// none_by_lock() and size().
    explicit holds(const gate& of) noexcept : gate_(of) {}

    // Exclusive holds.

    /// Returns whether there is no exclusive hold but perhaps the lease that is taken without the lock.
    bool none_by_lock() const noexcept { return exclusive_.empty(); }
    std::size_t size() const noexcept { return count_; }

    /// Returns whether there is any exclusive hold.
    bool any() const noexcept {
        return !none_by_lock() || gate::thread_of(gate_.solo.load(std::memory_order_acquire)) != 0;
    }

    /// Keeps the hold, and returns its ticket.
    std::uint64_t add(hold added);

    /// Takes the hold out. Needs no memory. REQUIRES: there is a hold of that ticket.
    hold remove(std::uint64_t ticket) noexcept;

    /// Ends a lease, and returns it. One that is starting excludes others until it has started.
    hold end(std::uint64_t ticket) noexcept;

    void begin_to_start(std::uint64_t ticket) noexcept { of_ticket(ticket).starting = true; }
    void has_started(std::uint64_t ticket) noexcept;
    void note_opened(std::uint64_t ticket) noexcept { of_ticket(ticket).opened = true; }

    /// Makes a lease of a claim. What is put on the queue `on` at its end belongs to it. REQUIRES: it is a claim, or
    /// was one.
    void grant(std::uint64_t ticket, const named_queue& on, std::uint64_t taken_at) noexcept;

    /// Returns the lease that was taken without the lock; its thread is 0 where there is none.
    hold solo() const noexcept;

    /// Returns a hold that excludes this access, one of the same thread if there is one. Its thread is 0 where none
    /// does. Where the access is one of several that are granted together, the claims of the others exclude it not.
    hold excluding(const region& part, access what, std::uint32_t thread, bool joint = false) const noexcept;

    /// Returns whether some access is moving bytes.
    bool any_claim() const noexcept { return claims_ != 0; }
    bool claimed_by_others(std::uint32_t thread) const noexcept;

    /// Both return whether somebody has a lease of some bytes at `where`: anybody, or the calling thread.
    bool any_at(space where) const noexcept;
    bool of_this_thread_at(space where) const noexcept;

    /// Returns whether the calling thread has claimed bytes at `where` for one of several requests.
    bool any_joint_at(space where) const noexcept;

    /// Returns whether the calling thread has any exclusive hold.
    bool of_this_thread() const noexcept;

    /// Returns whether any hold but the one of `ticket` has a byte of `part`.
    bool any_other(const region& part, std::uint64_t ticket) const noexcept;

    /// Returns whether somebody has a lease of bytes of `part` at another space.
    bool leased_elsewhere(const region& part, space where) const noexcept;

    /// Returns the bytes of `part` that exclusive holds have.
    byte_ranges exclusively_held(const region& part) const;

    // Undeclared holds.

    /// Returns the pointers and views through which the host's copy may be written.
    held_ranges& writers_of_host();
    bool host_is_held_for_writing(const region& part) const noexcept {
        return undeclared_ && undeclared_->writers_of_host.any(part);
    }
    bool host_is_held_for_writing() const noexcept { return undeclared_ && undeclared_->writers_of_host.any(); }
    bool host_is_held_for_good(byte_range range) const noexcept {
        return undeclared_ && undeclared_->writers_of_host.for_good(range);
    }

    /// Returns what the program has of the copy at `where` without writing through it unseen: handles and views, and
    /// pointers of the host for reading.
    held_ranges& readers_at(coherence::space_id where) { return with_undeclared().readers.at(where); }
    const held_ranges* find_readers_at(coherence::space_id where) const noexcept {
        return undeclared_ ? std::as_const(undeclared_->readers).find(where) : nullptr;
    }

    /// Returns whether a plain handle, or a pointer for reading, of the copy at `where` is out.
    bool handle_is_out(coherence::space_id where) const noexcept {
        const held_ranges* const held = find_readers_at(where);
        return held && held->any_pointer();
    }
    bool view_is_out(coherence::space_id where) const noexcept {
        const held_ranges* const held = find_readers_at(where);
        return held && held->any_view();
    }

    /// Returns whether a plain handle, or a pointer, of the copy at `where` is out.
    bool pointer_is_out(coherence::space_id where) const noexcept {
        const bool to_write = where == coherence::host && undeclared_ && undeclared_->writers_of_host.any_pointer();
        return to_write || handle_is_out(where);
    }

    /// Returns whether the copy at `where` has to stay where it is.
    bool keeps_in_place(coherence::space_id where) const noexcept;

    void end_handles(coherence::space_id where, byte_range range);

    /// Ends all pointers and handles, and gives their bytes back to standing holds.
    void end_all_pointers() noexcept;

    /// Adds a view. Standing holds at other spaces that are older than it do not get its bytes back until it ends.
    held_view& add_view(held_ranges& in, const region& part, bool unseen = false) {
        const bool writes = &in == &writers_of_host();
        return in.add_view({.part = part, .number = next_ticket(), .writes_host = writes, .unseen = unseen});
    }

    /// Ends a view of the copy at `where`, and the upload that lasts as long.
    void end_view(coherence::space_id where, held_view& ended) noexcept;

    /// Returns the views at `where` by which requests that are granted together keep bytes from standing holds
    /// elsewhere; the program has no handle of these.
    held_ranges& quiet_at(coherence::space_id where) { return with_undeclared().quiet.at(where); }

    /// Returns the bytes of `range` that pointers and views elsewhere keep from the standing hold.
    byte_ranges kept_from(const standing& of, byte_range range) const;

    /// Returns whether pointers or views elsewhere keep any bytes from the standing hold.
    bool keeps_any_from(const standing& of) const noexcept;

    std::uint64_t add_holder(named_holder added);

    /// Takes the holder out and returns it. Whoever drops the result has let go of the buffer's lock: it may be the
    /// last to own the holder's context.
    holder remove_holder(std::uint64_t ticket) noexcept;

    bool any_holder() const noexcept { return undeclared_ && !undeclared_->holders.empty(); }

    /// Tickets of holders are greater than those of all that were named before. Returns the last.
    std::uint64_t last_holder() const noexcept { return undeclared_ ? undeclared_->last : 0; }

    /// Returns the first holder after the one with the ticket `last`, and its ticket, among those of views that share
    /// a byte with `part` of the copy at `where`; 0 as its ticket where there is none.
    std::pair<std::uint64_t, holder> holder_after(std::uint64_t last, space where, const region& part) const;

    /// Returns whether there are pointers, handles and views at most.
    bool are_plain() const noexcept {
        return !undeclared_ || (undeclared_->standing_holds.empty() && undeclared_->uploads.empty());
    }

    /// Returns whether only views pin the copy at `where`, and some of them have a holder that can be asked.
    bool may_be_let_go(space where) const noexcept;

    /// Counts up, and returns the count: views and standing holds are compared by it.
    std::uint64_t next_ticket() { return ++with_undeclared().last; }

    /// Notes an upload, which keeps the host's copy where it is; that at `where` is kept by the view `of`, which ends
    /// it.
    void add_upload(const held_view& of, byte_range range, space where);

    /// Returns whether bytes of `part` are to be written at the host alone, as long as some are uploaded by graphs, or
    /// written by what no page table shows.
    bool stay_at_host(const region& part) const {
        return upload_of(part) || (undeclared_ && undeclared_->writers_of_host.any_unseen(part));
    }

    /// Returns an upload that shares a byte with `part`, or null.
    const captured_upload* upload_of(const region& part) const noexcept;

    std::uint64_t add_standing(standing added);
    void remove_standing(std::uint64_t ticket) noexcept;
    std::vector<standing>& standing_holds() noexcept;
    const std::vector<standing>& standing_holds() const noexcept { return const_cast<holds*>(this)->standing_holds(); }
    bool any_standing() const noexcept { return undeclared_ && !undeclared_->standing_holds.empty(); }
    standing* find_standing(std::uint64_t ticket) noexcept;

    /// Returns whether any standing hold is at `where`.
    bool stands_at(space where) const noexcept;

    /// Returns the index of a standing hold; for a hold that has gone, that of the hold before it, or size_t(-1).
    std::size_t index_of_standing(std::uint64_t ticket) noexcept;

    /// Returns a standing hold that may not stand beside such a hold, or null.
    const standing* standing_against(const region& part, space where, access what) const noexcept;

    /// Ends all undeclared holds. There may be no views.
    void forget_undeclared() noexcept { undeclared_.reset(); }

    // Queued work.

    work_list& work() noexcept { return work_; }
    const work_list& work() const noexcept { return work_; }

    /// Returns which of the rules above is broken; null where none is.
    const char* broken_rule() const noexcept;

private:
    struct undeclared {
        std::uint64_t last = 0;  // ticket
        held_ranges writers_of_host;
        holds_by_space readers;
        holds_by_space quiet;
        std::vector<standing> standing_holds;  // by ticket
        std::vector<captured_upload> uploads;
        std::map<std::uint64_t, named_holder> holders;
    };

    /// The ticket of an exclusive hold is its address.
    static hold& of_ticket(std::uint64_t ticket) noexcept { return *reinterpret_cast<hold*>(ticket); }
    static std::uint64_t ticket_of(const hold& of) noexcept { return reinterpret_cast<std::uintptr_t>(&of); }

    undeclared& with_undeclared();

    template <class Visit>
    void for_each_elsewhere(const standing& of, const Visit& visit) const;

    const gate& gate_;
    coherence::range_tree<hold> exclusive_;
    std::uint32_t count_ = 0;   // of the exclusive holds
    std::uint32_t claims_ = 0;  // among them
    std::unique_ptr<undeclared> undeclared_;
    work_list work_;
};

}  // namespace unibuf::detail
