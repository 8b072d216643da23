// buffer/core.hpp: one logical buffer, which all its handles share.
//
// What always holds:
//  1. What is in `guarded` is changed by a `lock` alone (access/lock.hpp), but for `named`; what only looks at it takes
//  the
//     mutex alone. The options and the size of the copies never change.
//  2. The lock is held while something is looked up or decided, never while a backend moves bytes or anybody waits: an
//     access that has to do that puts a claim on its range, lets go of the lock, and takes it again to say what was
//     done. What the host copies by itself where nobody else uses the buffer (put, poison) it copies under the lock.
//  3. The gate says nothing while the lock is held, while an access has let go of it, and while any lease is held that
//     was not taken at the gate: what it says is true of a buffer that nobody is changing (gate_bits.hpp).
//  4. Nobody frees a copy while a claim, a lease, queued work or an undeclared hold names it, or while a thread makes
//     another copy, which may use its memory.
//  5. A buffer goes when its last handle and its last lease have gone, whichever is later.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <string>
#include <vector>

#include "buffer/holds.hpp"
#include "buffer/pool_tag.hpp"
#include "buffer/sent_images.hpp"
#include "buffer/small_mutex.hpp"
#include "buffer/wait_circle.hpp"
#include "buffer/waiting_writers.hpp"
#include "coherence/transitions.hpp"
#include "memory/copies.hpp"
#include "memory/limits.hpp"
#include "process/peers.hpp"
#include "tracking/host_writes.hpp"
#include "unibuf/buffer.hpp"

namespace unibuf::detail {

class core;

using promise = coherence::directory::promise;

/// The transfers of one buffer so far, of one kind: few words, as most buffers have one or two of these.
struct transfer_tally {
    static constexpr std::uint64_t most = (std::uint64_t{1} << 40) - 1;  // takes days to count

    std::uint64_t bytes = 0;
    std::uint64_t transfers : 40 = 0;
    std::uint64_t from : 8 = 0;  // space::id()
    std::uint64_t to : 8 = 0;
    std::uint64_t why : 8 = 0;  // cause
};
static_assert(sizeof(transfer_tally) == 16);

/// The parts of a buffer that few buffers need.
struct seldom_used {
    seldom_used();
    ~seldom_used();  // is long, and stays out of what ends a buffer that has none

    std::condition_variable_any changed;  // told when a hold has ended, or a writer waits no more
    waiting_writers writers_in_line;
    std::unique_ptr<host_writes> writes;          // made with the first pointer to the host's copy
    sent_images sent;                             // of what `writes` compares; the devices take them from here
    std::unique_ptr<pool_tag> pooled;             // null where the buffer belongs to no pool
    void (*forget_names)(const core&) = nullptr;  // set where the registry may know the buffer
    std::unique_ptr<process::peers> peers;        // null where no other process can have the host's copy
    std::vector<region> read_once;                // by value, since the last write: see buffer::copy_value_to
    std::uint64_t publications = 0;
    std::uint64_t fence_waits = 0;
    std::uint64_t evictions = 0;
    std::uint64_t postponed_at = 0;  // number of the newest queued work when an eviction gave up waiting for it
};

/// The state of a buffer that its lock guards.
struct guarded {
    guarded(std::size_t bytes, std::size_t bytes_of_copies, const buffer_options& options, const gate& of);

    const std::uint64_t id;  // of the buffer
    coherence::directory directory;
    detail::copies copies;
    detail::holds holds;
    std::unique_ptr<seldom_used> seldom;
    std::forward_list<transfer_tally> transfers;  // in the order of the first transfers of each kind

    residents::place among_residents;        // where `resident`
    std::uint32_t times_device_ready = 0;    // how often gate::device_ready was set
    std::uint32_t gate_before_lease = 0;     // what the gate said before a lease that changes nothing; else 0
    coherence::space_id unasked = no_space;  // a prefetch has brought bytes there, and no access has used them yet
    std::uint16_t waiting = 0;               // threads that have let go of the lock within an access
    std::atomic<bool> named = false;         // the registry may find the buffer; is also read without the lock
    bool making_copy : 1 = false;            // one of the threads that wait makes a copy
    bool ownerless : 1 = false;              // the last handle has gone; the last lease takes all with it
    bool any_exposed : 1 = false;            // set where any range is exposed; then there are host_writes
    bool any_lost : 1 = false;               // set where any range is lost
    bool any_open : 1 = false;  // set where any range may be open, under a standing hold or, for lack of memory, none
    bool resident : 1 = false;  // the buffer is in the list of those with memory at a device
    bool any_handed_out : 1 = false;  // set where any copy may be out: see hand_out()

    seldom_used& with_seldom_used() {
        if (!seldom) seldom = std::make_unique_for_overwrite<seldom_used>();  // members are set once, not zeroed before
        return *seldom;
    }

    /// Returns the host writes that pointers may make, or null where no pointer was ever out.
    host_writes* writes() const noexcept { return seldom ? seldom->writes.get() : nullptr; }

    /// Notes that an access has sent what it was to send, where contents are compared by digest.
    void end_sending() noexcept;

    /// Notes that the content is another one than it was.
    void note_write() noexcept {
        if (seldom) seldom->read_once.clear();
    }

    /// Returns the processes that have the host's copy too, or null.
    process::peers* peers() const noexcept { return seldom ? seldom->peers.get() : nullptr; }

    /// Notes that the program has a handle of the copy without a lease: see copies::hand_out.
    void hand_out(space where) noexcept {
        if (where == host) return;
        copies.hand_out(where.id());
        any_handed_out = true;
    }

    /// Whoever waits counts in `waiting`.
    void tell_waiting() const noexcept {
        if (waiting == 0 || !seldom) return;
#ifndef NDEBUG
        waits_for::look_again(this);
#endif
        seldom->changed.notify_all();
    }

    /// Notes an access at `where`. Returns whether it is the first since bytes came there that nobody had asked for.
    bool used_at(space where) noexcept {
        if (unasked != where.id()) return false;
        unasked = no_space;
        return true;
    }

    void use_now() const noexcept {
        if (resident) detail::use_now(among_residents->used);
    }

    byte_range whole() const noexcept { return directory.whole(); }

    /// Returns the bytes of each copy's memory. They may be more than the whole: a pool gives a buffer out with fewer
    /// bytes than work may be queued on.
    region room() const noexcept { return region(0, copies.bytes()); }
    const buffer_options& options() const noexcept { return copies.options(); }

    /// Returns "buffer #7 (4096 bytes)".
    std::string name() const;

    /// Returns whether the device that the buffer is for is the host.
    bool is_for_host() const { return copies.meant() == host_as_device; }

    /// Returns whether the space uses the host's memory.
    bool shares_host(space where) const noexcept {
        if (where == host) return true;
        const copy* const its_copy = copies.find(where.id());
        return its_copy && its_copy->placed == placement::shared && !its_copy->borrows();
    }

    /// Returns whether the host's copy is memory of the program's own, which it may write until it has it back: see
    /// buffer::over().
    bool has_programs_memory() const noexcept {
        const copy* const at_host = copies.find(coherence::host);
        return at_host && at_host->memory->is_programs() && !peers();
    }

    /// Returns whether pointers to the host's copy are out, and lead to the memory of the copy at `where`.
    bool pointers_reach(space where) const noexcept {
        const bool is_out = any_exposed || holds.view_is_out(coherence::host);
        return is_out && (shares_host(where) || copies.lends_to_host(where.id()));
    }

    /// Returns whether work is queued that uses the host's memory.
    bool host_memory_is_busy() const noexcept {
        return holds.work().any_at([this](coherence::space_id where) { return shares_host(space::from_id(where)); });
    }
};

class core final : public gate, public resident {
public:
    core(std::size_t size_bytes, const buffer_options& options);

    /// Makes a buffer of a pool, with room for all sizes of its class.
    core(std::size_t size_bytes, const buffer_options& options, std::unique_ptr<pool_tag> of);

    void add_handle() noexcept { handles_.fetch_add(1, std::memory_order_relaxed); }
    void drop_handle() noexcept;

    /// Only drop_handle() and end() destroy a core.
    virtual ~core();
    core(const core&) = delete;
    core& operator=(const core&) = delete;

    /// Destroys the buffer, whose last handle and last lease have gone.
    void end() noexcept;

    bool has_other_handles() const noexcept { return handles_.load(std::memory_order_acquire) > 1; }
    /// Returns whether nobody else has a handle, and nobody a lease, which needs none.
    bool is_unused() const noexcept;

    /// Returns whether the last handle and all leases have gone: the buffer is being destroyed.
    bool is_going() const noexcept;

    // Residents ask each other for memory by these.
    bool add_handle_if_alive() noexcept override;
    void give_handle_back() noexcept override { drop_handle(); }
    bool look(coherence::space_set at, departures& to) override;
    bool ask_to_let_go(space where) override;
    std::uint64_t evict(space where, const wait_limit& limit) override;

    /// Tells the buffer that the registry has a name of it: `forget` takes the names out when the buffer goes.
    void will_be_named(void (*forget)(const core&));

    /// Returns the tag of a buffer that belongs to a pool and has one handle.
    pool_tag& tag() noexcept { return *state_.seldom->pooled; }

    /// Fetches the buffer into the cache, where it will soon be needed.
    void fetch_ahead() const noexcept {
        const char* const begin = reinterpret_cast<const char*>(this);
        for (std::size_t line = 0; line < sizeof *this; line += 64) __builtin_prefetch(begin + line, 1);
    }

    // These are read without the lock. Only a pool changes the number of bytes, of a buffer that nobody has.
    std::uint64_t id() const noexcept { return state_.id; }
    const buffer_options& options() const noexcept { return state_.options(); }
    std::string name() const { return state_.name(); }
    bool is_for_host() const { return state_.is_for_host(); }

    // These look at the buffer without closing the gate.
    buffer_state state();
    unibuf::statistics statistics() const;
    std::size_t ranges() const;
    placement_info placement(space where) const;
    std::uint64_t held_at(space where) const;
    std::shared_ptr<process::shared_memory> shared_memory() const;  // null where no other process can have the buffer
    std::size_t room() const noexcept { return state_.copies.bytes(); }
    bool is_bound() const;
    void check_has_copy() const;  // throws error(not_allocated)

private:
    friend class lock;

    bool may_go_before(const work& under_way, coherence::space_id where) const noexcept;

    mutable small_mutex mutex_;
    // The number of handles, or one of these. Between 0 and them, drop_handle() is deciding.
    static constexpr std::uint32_t ending = ~std::uint32_t{0};
    static constexpr std::uint32_t leased_only = ending - 1;
    std::atomic<std::uint32_t> handles_ = 1;
    guarded state_;
};

[[noreturn]] void refuse_constant();

/// Throws error(invalid_argument) where a buffer with these options cannot begin without memory.
inline void check_needs_no_memory(const buffer_options& options) {
    if (options.access == host_access::constant) refuse_constant();
}

/// Throws error(not_allocated) where there is no copy.
void check_allocated(const guarded& state, const copy* its_copy, space where, const char* verb);

/// Returns the buffer of a handle. Throws error(invalid_argument) where the handle was moved from.
core& core_of(gate* of);

struct drop_handle {
    void operator()(core* of) const noexcept { of->drop_handle(); }
};

/// A handle that is given back when this goes.
using core_handle = std::unique_ptr<core, drop_handle>;

inline core_handle another_handle(core& of) noexcept {
    of.add_handle();
    return core_handle(&of);
}

}  // namespace unibuf::detail
