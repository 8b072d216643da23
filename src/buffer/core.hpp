// buffer/core.hpp: one logical buffer: its directory, copies, leases and queued work, under one lock.
//
// The lock is held while something is looked up or decided, never while bytes move: an access that has to move some
// puts a claim on its range, lets go of the lock, and takes it again to say what was done.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "buffer/copies.hpp"
#include "buffer/host_writes.hpp"
#include "buffer/joint_transfer.hpp"
#include "buffer/lease_table.hpp"
#include "buffer/pool_tag.hpp"
#include "buffer/residents.hpp"
#include "buffer/work_list.hpp"
#include "coherence/plan.hpp"
#include "unibuf/buffer.hpp"

namespace unibuf::detail {

/// An access as it was asked for.
struct demand {
    byte_range range{};
    space where{};
    access what = access::read;
    cause why = cause::read;
    queue on = {};
    bool may_return_early = false;  // transfers may go on after the call
    bool begins_later = false;      // what a lease writes becomes newest with `begin`, not with the grant
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

class core final : public gate {
public:
    core(std::size_t size_bytes, const buffer_options& options);

    /// Of a pool, with room for all sizes of its class.
    core(std::size_t size_bytes, const buffer_options& options, std::unique_ptr<pool_tag> of);

    /// Its host copy is `memory`, with what that holds. Of a buffer that nobody knows yet.
    void take_over(std::unique_ptr<backends::memory> memory);

    void add_handle() noexcept { handles_.fetch_add(1, std::memory_order_relaxed); }
    bool add_handle_if_alive() noexcept;
    void drop_handle() noexcept;

    lease_bytes lease(const demand& asked);
    void begin(const demand& leased);
    void end_lease(std::uint64_t ticket) noexcept;

    std::byte* host_pointer(byte_range range);
    const std::byte* host_pointer_to_read(byte_range range);
    void end_host_pointers(byte_range range);
    std::byte* begin_view(byte_range range);
    void end_view(byte_range range) noexcept;
    native_memory device_handle_of(byte_range range);
    void end_device_handles();
    unibuf::copy_view begin_copy_view(space where, byte_range range);
    unibuf::copy_view hold_copy(space where, byte_range range);
    void end_copy_view(space where) noexcept;

    void check_has_copy() const;
    void sync(space where, byte_range range);
    void mark(const demand& asked);
    void prefetch(const demand& asked);
    void discard(space where, byte_range range);
    void discard_content(byte_range range);
    void fill(byte_range range, std::span<const std::byte> pattern);

    /// A small host write, in one go.
    void put(byte_range range, const std::byte* from);

    /// Joins a transfer that makes `where` current, with ranges that are in order and apart. False, and nothing, where
    /// that takes more than a move between the host and one device, or would have to wait: then sync() does it.
    bool join(joint_transfer& transfer, space where, std::span<const byte_range> ranges);

    /// Asks for it from memory, where it will soon be needed.
    void fetch_ahead() const noexcept {
        const char* const begin = reinterpret_cast<const char*>(this);
        for (std::size_t line = 0; line < sizeof *this; line += 64) __builtin_prefetch(begin + line, 1);
    }

    /// The end of that; `moved` is what has arrived.
    void leave(std::uint64_t claim, const coherence::step& like, std::span<const backends::move_of> moved,
               std::chrono::steady_clock::time_point begin) noexcept;

    // For others that need memory; see residents.hpp, which has the links.
    struct departure {
        obstacle why = obstacle::none;
        bool current_elsewhere = false;
        std::uint32_t age = 0;  // since it was used, in units of 65 us
    };
    departure may_go(space where) noexcept;

    /// Drops the copy at `where`; the host gets what is newest there. The bytes that were freed: 0 where something has
    /// come in between. Throws error(timeout) where work is queued on it still at the deadline.
    std::uint64_t evict(space where, std::chrono::steady_clock::time_point deadline);
    resident_links& links() noexcept { return links_; }

    /// From now on its names go with it.
    void will_be_named();

    // For the pool that it belongs to, which has the one handle.
    pool_tag& tag() noexcept { return *rare_->pooled; }
    bool has_other_handles() const noexcept { return handles_.load(std::memory_order_acquire) > 1; }

    /// Ends what was given out. Throws error(access_conflict) while it is leased, error(invalid_argument) where it is
    /// not of this pool, or released already.
    void recycle(std::uint64_t pool);
    void forget_content();
    void resize(std::size_t size_bytes);
    std::uint64_t held_at(space where) const;

    buffer_state state();
    unibuf::statistics statistics() const;
    std::size_t ranges() const;
    placement_info placement(space where) const;

    std::uint64_t id() const noexcept { return id_; }
    const buffer_options& options() const noexcept { return copies_.options(); }

    /// "buffer #7 (4096 bytes)"
    std::string name() const;

private:
    class locked;
    class steps;

    ~core();
    static std::uint64_t next_id() noexcept;

    /// Makes what `asked` needs current, then calls finish(copy&) under the lock.
    template <class Finish>
    auto grant(const demand& asked, Finish finish);

    void wait_for_turn(locked& lock, const demand& asked);

    /// Makes the copy at the space of the access where there is none. True where the lock was let go meanwhile.
    bool make_copy(locked& lock, const demand& asked);

    /// Where the copy at the space of the access takes turns with another one: makes it its turn. True where the lock
    /// was let go meanwhile.
    bool take_memory(locked& lock, const demand& asked);

    /// All of it: waits until nobody is excluded, the copy is there, and it is its turn.
    void take_turn(locked& lock, const demand& asked);
    lease_record solo_lease() const noexcept;

    /// Nobody uses it, nothing is queued or out, and no two of its copies share memory.
    bool is_settled() const noexcept;
    void plan_sync(std::span<const byte_range> ranges, space where, std::vector<coherence::step>& planned) const;
    void check_allowed(const demand& asked) const;
    void check_not_lost(const demand& asked);
    void check_allocated(const copy* there, space where, const char* verb) const;
    unibuf::copy_view view_of(copy& there, space where, byte_range range);
    void now_written(byte_range range, space where);
    void queue_all_work_of(space where, byte_range range, bool writes, queue on) noexcept;
    void poison_stale(byte_range range);
    void open();
    void has_moved(const coherence::step& like, std::span<const backends::move_of> moved,
                   std::chrono::steady_clock::time_point begin);
    void count(const coherence::step& of, cause why, std::span<const byte_range> moved,
               std::chrono::steady_clock::time_point begin, std::chrono::steady_clock::time_point end);
    void tell_waiting() const noexcept {
        if (rare_) rare_->changed.notify_all();
    }

    /// What few buffers need.
    struct rare {
        std::condition_variable changed;      // a lease ended, or a claim
        std::unique_ptr<host_writes> writes;  // from the first pointer to the host's copy on
        std::unique_ptr<pool_tag> pooled;     // null where it belongs to none
        std::uint64_t publications = 0;
        std::uint64_t fence_waits = 0;
        std::uint64_t evictions = 0;
    };
    rare& with_rare();

    /// Of pointers that are out.
    host_writes* writes() const noexcept { return rare_ ? rare_->writes.get() : nullptr; }
    void give_host_pointer(byte_range range, bool view);

    /// Tells the directory what was written through them, before an access.
    void find_host_writes(const demand& asked);
    void check_not_contested(const demand& asked) const;
    void check_no_pointers(byte_range range, const char* verb) const;

    void wait_for_claims(std::unique_lock<std::mutex>& lock);
    void forget();
    obstacle obstacle_to_evict(space where) const noexcept;
    void drop_copy(space where);
    void before_device_writes(space where, byte_range range);

    mutable std::mutex mutex_;
    std::unique_ptr<rare> rare_;
    std::atomic<std::uint32_t> handles_ = 1;
    std::uint32_t openings_ = 0;    // how often device_ready was set
    std::uint32_t used_ = 0;        // when some copy was accessed by the lock, in units of 65 us
    std::uint16_t waiting_ = 0;     // threads that let go of the lock within an access
    bool making_copy_ : 1 = false;  // by one of those who wait
    bool ownerless_ : 1 = false;    // the last handle has gone; the last lease takes all with it
    bool any_exposed_ : 1 = false;  // some range is exposed
    bool any_lost_ : 1 = false;     // some range may be lost
    bool resident_ : 1 = false;     // in the list of those with memory at a device
    bool named_ : 1 = false;        // the registry may know it
    resident_links links_;
    std::uint64_t id_;

    coherence::directory directory_;
    copies copies_;
    lease_table leases_;
    work_list work_;

    std::vector<transfer_count> transfers_;
};

struct drop_handle {
    void operator()(core* of) const noexcept { of->drop_handle(); }
};

/// A handle that is given back.
using core_handle = std::unique_ptr<core, drop_handle>;

}  // namespace unibuf::detail
