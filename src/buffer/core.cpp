// buffer/core.cpp
#include "buffer/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "backends/spaces.hpp"
#include "buffer/core_access.hpp"
#include "coherence/state.hpp"
#include "registry/names.hpp"
#include "unibuf/error.hpp"

#ifndef NDEBUG
#include <cstdio>
#include <cstdlib>
#endif

namespace unibuf::detail {

/// Numbers are taken in blocks, so that threads that make buffers do not contend.
std::uint64_t core::next_id() noexcept {
    constexpr std::uint64_t block = 64;
    static std::atomic<std::uint64_t> taken;
    static thread_local constinit std::uint64_t next = 0;
    if (next % block == 0) next = taken.fetch_add(block, std::memory_order_relaxed);
    return ++next;
}

core::core(std::size_t size_bytes, const buffer_options& options)
    : gate(size_bytes), id_(next_id()), directory_(size_bytes), copies_(size_bytes, options) {}

core::~core() {
    if (named_) names::instance().remove(*this);
    if (resident_) residents::instance().remove(*this);
    for (const coherence::queued_work& each : work_.ranges()) {
        try {
            work_.find(each.ticket)->done.wait();
        } catch (const std::exception&) {  // its bytes are going anyway
        }
    }
    rare_.reset();  // it watches the host's copy
    copies_.free_all();
}

core::rare& core::with_rare() {
    if (!rare_) rare_ = std::make_unique<rare>();
    return *rare_;
}

std::string core::name() const { return fmt::format("buffer #{} ({} bytes)", id_, bytes); }

bool core::add_handle_if_alive() noexcept {
    std::uint32_t seen = handles_.load(std::memory_order_relaxed);
    while (seen != 0 && !handles_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) {
    }
    return seen != 0;
}

void core::will_be_named() {
    const std::scoped_lock lock(mutex_);
    named_ = true;
}

void core::drop_handle() noexcept {
    // Of one that nobody can find but by a handle, nobody can take another one now.
    const bool alone = handles_.load(std::memory_order_acquire) == 1 && !resident_ && !named_;
    if (!alone && handles_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    {
        // With the lock, so that a thread that has just ended a lease is out of it.
        const std::scoped_lock lock(mutex_);
        const bool held =
            solo.load(std::memory_order_acquire) != 0 && (solo.fetch_or(by_lock) & ~by_lock || !leases_.empty());
        ownerless_ = held;
        if (held) return;
    }
    delete this;
}

/// Lets accesses look before they lock again, and says what they may find.
void core::open() {
#ifndef NDEBUG
    if (const char* const broken = coherence::broken_rule(directory_, copies_.allocated())) {
        std::fprintf(stderr, "unibuf: %s: %s\n", name().c_str(), broken);
        std::abort();
    }
#endif
    if (waiting_ != 0 || !leases_.empty() || ownerless_) return;
    std::uint32_t found = 0;
    const coherence::knowledge& known = directory_.first();
    if (directory_.ranges() == 1 && work_.empty() && !known.lost && !known.contested) {
        const bool exposed = known.exposed() && writes()->holders().for_good(directory_.whole());
        if (coherence::has(known.current, coherence::host)) {
            const host_access allowed = copies_.options().access;
            const copy& there = *copies_.find(coherence::host);
            found = host_current;
            if (allowed != host_access::write_only) found |= host_readable;
            if (there.handed_out) found |= host_shown;
            if (allowed != host_access::read_only) {
                const bool alone = known.current == coherence::set_of(coherence::host);
                if (alone && known.what == coherence::content::written) found |= host_writable;
                if (exposed) found |= host_exposed;
            }
            host_address.store(there.memory->host_address(), std::memory_order_release);
        }
        const std::uint8_t device = default_space.load(std::memory_order_relaxed);
        // A pointer to the host in the place of a device is a host pointer: one that may be written has to be out
        // already, and nothing may have to be looked for.
        const bool exposes = device == host_in_place_of_device && copies_.options().access != host_access::read_only;
        const bool settled = exposes ? exposed && known.out == coherence::pointers::assumed : !known.exposed();
        const copy* const there = device == no_space ? nullptr : copies_.find(device);
        if (there && coherence::has(known.current, device) && settled) {
            found |= std::uint32_t{device} << device_shift;
            const bool alone = known.current == coherence::set_of(device) && known.what == coherence::content::written;
            if (alone && !backends::device_of(space::from_id(device)).about().asynchronous) found |= device_newest;
            if (there->handed_out) {
                device_handle.store(there->handle(), std::memory_order_release);
                device_ready.store(++openings_ << 8 | device, std::memory_order_release);
            }
        }
        ready.store(found, std::memory_order_release);
    }
    solo.fetch_and(~by_lock, std::memory_order_release);
}

bool core::locked::wait_for_change(std::chrono::steady_clock::time_point deadline) {
    std::condition_variable& changed = core_.with_rare().changed;
    ++core_.waiting_;
    std::cv_status status = std::cv_status::no_timeout;
    if (backends::help_others) {
        // What this thread waits for may wait for this thread.
        {
            const pause unlocked(*this);
            backends::help_others();
        }
        changed.wait_until(lock_, std::min(deadline, clock::now() + std::chrono::milliseconds(1)));
        if (clock::now() >= deadline) status = std::cv_status::timeout;
    } else if (deadline == clock::time_point::max()) {
        changed.wait(lock_);
    } else {
        status = changed.wait_until(lock_, deadline);
    }
    --core_.waiting_;
    return status == std::cv_status::no_timeout;
}

/// The lease that was taken without the lock, as a record; its thread is 0 where there is none.
lease_record core::solo_lease() const noexcept {
    const std::uint64_t word = solo.load(std::memory_order_acquire);
    lease_record result;
    result.range = directory_.whole();
    result.what = access_of(word);
    result.thread = thread_of(word);
    return result;
}

bool core::is_settled() const noexcept {
    const auto shared = [](const copy& each) { return each.placed == placement::shared; };
    return leases_.empty() && solo_lease().thread == 0 && work_.empty() && !any_exposed_ && !any_lost_ &&
           std::ranges::none_of(copies_, shared);
}

void core::wait_for_turn(locked& lock, const demand& asked) {
    bool in_time = true;
    for (;;) {
        const lease_record unlocked = solo_lease();
        const lease_record* other = leases_.excluding(asked.range, asked.what, this_thread());
        const bool first = !other || unlocked.thread == this_thread();  // an error comes before a wait
        if (first && unlocked.thread != 0 && unlocked.excludes(asked.range, asked.what)) other = &unlocked;
        if (!other) return;
        const lease_record wanted{.range = asked.range, .where = asked.where, .what = asked.what};
        if (other->thread == this_thread() && !other->claim) {
            throw error(error_code::access_conflict,
                        fmt::format("{}: {} was asked for while the same thread holds {}: end that one first", name(),
                                    describe(wanted), describe(*other)));
        }
        if (!in_time) {
            throw error(
                error_code::timeout,
                fmt::format("{}: {} was asked for, but another thread kept {} for all of the time that was given",
                            name(), describe(wanted), describe(*other)));
        }
        in_time = lock.wait_for_change(asked.deadline);
    }
}

void core::check_allowed(const demand& asked) const {
    if (asked.where != host || asked.why == cause::host_pointer) return;
    const host_access allowed = copies_.options().access;
    if (allowed == host_access::read_only && asked.what != access::read) {
        throw error(error_code::invalid_argument, name() + " was created read_only: the host may not write it");
    }
    if (allowed == host_access::write_only && asked.what != access::write) {
        throw error(error_code::invalid_argument, name() + " was created write_only: the host may not read it");
    }
}

void core::check_not_lost(const demand& asked) {
    const byte_range lost = coherence::lost_in(directory_, asked.range);
    if (lost.empty()) {
        any_lost_ = !coherence::lost_in(directory_, directory_.whole()).empty();
        return;
    }
    throw error(error_code::transfer_failed,
                fmt::format("{}: {} was asked for, but bytes [{}, {}) were lost when queued work failed: write them "
                            "again, or use discard_content",
                            name(), describe({.range = asked.range, .where = asked.where, .what = asked.what}),
                            lost.begin, lost.end));
}

void core::check_allocated(const copy* there, space where, const char* verb) const {
    if (there) return;
    throw error(error_code::not_allocated,
                fmt::format("{}: {} was asked for, but there is no copy at {} yet: access it first", name(), verb,
                            where.name()));
}

/// The lock is let go while memory is allocated, which may take a driver long.
bool core::make_copy(locked& lock, const demand& asked) {
    if (copies_.find(asked.where.id())) return false;
    const auto text = [&] { return fmt::format("{}: a copy at {} was asked for", name(), asked.where.name()); };
    if (making_copy_) {
        if (!lock.wait_for_change(asked.deadline)) {
            throw error(error_code::timeout, text() + ", but another thread was making one for all of the given time");
        }
        return true;
    }
    copies_.reserve(asked.where.id());
    making_copy_ = true;
    if (!resident_ && asked.where != host && asked.where != backends::host_as_device) {
        residents::instance().add(*this);
        resident_ = true;
        used_ = ticks_now();
    }
    ++waiting_;  // keeps the gate shut
    std::vector<copy> made;
    std::optional<error> failure;
    {
        const locked::pause unlocked(lock);
        try {
            made = copies_.prepare(asked.where.id(), *this, asked.deadline);
        } catch (const error& thrown) {
            failure = thrown;
        } catch (const std::bad_alloc&) {
            failure.emplace(error_code::out_of_memory, "the host has no memory for bookkeeping");
        }
    }
    --waiting_;
    making_copy_ = false;
    tell_waiting();
    if (failure) throw error(failure->code(), fmt::format("{}: {}", text(), failure->what()));
    copies_.add(std::move(made));
    return true;
}

void core::take_turn(locked& lock, const demand& asked) {
    do {
        wait_for_turn(lock, asked);
    } while (make_copy(lock, asked) || take_memory(lock, asked));
}

void core::now_written(byte_range range, space where) {
    coherence::wrote(directory_, range, where.id());
    copies_.find(where.id())->untouched = false;
    if (copy* const host_copy = copies_.find(coherence::host)) host_copy->untouched = false;
    poison_stale(range);
}

/// Overwrites stale bytes that the host can address, where a device of this buffer asks for that.
void core::poison_stale(byte_range range) {
    if (!copies_.any_poisons()) return;
    for (copy& each : copies_) {
        std::byte* const address = each.placed == placement::mirrored ? each.memory->host_address() : nullptr;
        if (!address) continue;
        std::optional<host_writes::own_write> guard;
        if (each.where == coherence::host && any_exposed_) guard.emplace(*writes(), range);
        const coherence::space_set sharers = copies_.memories().group(each.where);
        directory_.for_each(range, [&](byte_range piece, const coherence::knowledge& known) {
            if (known.what == coherence::content::unwritten || (known.current & sharers) != 0) return;
            const bool in_use = std::ranges::any_of(work_.ranges(), [&](const coherence::queued_work& queued) {
                return queued.where == each.where && queued.range.overlaps(piece);  // a transfer may still read it
            });
            if (in_use) return;
            each.untouched = false;
            std::memset(address + piece.begin, static_cast<int>(backends::poison), piece.size());
        });
    }
}

buffer_state core::state() {
    const std::scoped_lock lock(mutex_);
    if (!any_exposed_) return coherence::state_of(directory_, copies_.allocated());
    return coherence::state_of(writes()->look(), copies_.allocated());
}

statistics core::statistics() const {
    const std::scoped_lock lock(mutex_);
    if (!rare_) return {.transfers = transfers_};
    return {.transfers = transfers_,
            .publications = rare_->publications,
            .fence_waits = rare_->fence_waits,
            .evictions = rare_->evictions};
}

std::size_t core::ranges() const {
    const std::scoped_lock lock(mutex_);
    return directory_.ranges();
}

placement_info core::placement(space where) const {
    const std::scoped_lock lock(mutex_);
    const copy* const there = copies_.find(where.id());
    check_allocated(there, where, "its placement");
    return copies_.placement_of(*there);
}

void end_by_lock(gate& of, std::uint64_t ticket) noexcept { static_cast<core&>(of).end_lease(ticket); }

std::uint32_t number_thread() noexcept {
    static std::atomic<std::uint32_t> last;
    thread_number = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return thread_number;
}

}  // namespace unibuf::detail
