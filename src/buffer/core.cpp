// buffer/core.cpp
#include "buffer/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "backends/spaces.hpp"
#include "buffer/core_access.hpp"
#include "coherence/state.hpp"
#include "unibuf/error.hpp"

#ifndef NDEBUG
#include <cstdio>
#include <cstdlib>
#endif

namespace unibuf::detail {
namespace {

/// Numbers are taken in blocks, so that threads that make buffers do not contend.
std::uint64_t next_id() noexcept {
    constexpr std::uint64_t block = 64;
    static std::atomic<std::uint64_t> taken;
    static thread_local constinit std::uint64_t next = 0;
    if (next % block == 0) next = taken.fetch_add(block, std::memory_order_relaxed);
    return ++next;
}

bool host_addresses(const copy& there) noexcept {
    return there.placed == placement::mirrored || there.where == backends::host_as_device.id();
}

/// What the API of its space calls a copy: of the host, an address, also where a device lends the memory.
std::uintptr_t handle_of(const copy& there) noexcept {
    const bool host_side = there.where == coherence::host || there.where == backends::host_as_device.id();
    return host_side ? reinterpret_cast<std::uintptr_t>(there.memory->host_address()) : there.memory->handle();
}

}  // namespace

core::core(std::size_t size_bytes, const buffer_options& options)
    : gate(size_bytes), id_(next_id()), directory_(size_bytes), copies_(size_bytes, options) {}

core::~core() {
    for (const coherence::queued_work& each : work_.ranges()) {
        try {
            work_.find(each.ticket)->done.wait();
        } catch (const std::exception&) {  // its bytes are going anyway
        }
    }
    copies_.free_all();
}

std::string core::name() const { return fmt::format("buffer #{} ({} bytes)", id_, bytes); }

void core::drop_handle() noexcept {
    const bool last =
        handles_.load(std::memory_order_acquire) == 1 || handles_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (!last) return;
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
    if (directory_.ranges() == 1 && work_.empty()) {
        const coherence::knowledge& known = directory_.first();
        if (coherence::has(known.current, coherence::host)) {
            const host_access allowed = copies_.options().access;
            std::uint32_t found = allowed == host_access::write_only ? 0 : host_readable;
            if (allowed != host_access::read_only) {
                const bool alone = known.current == coherence::set_of(coherence::host);
                if (alone && known.what == coherence::content::written) found |= host_writable;
                if (known.exposed) found |= host_exposed;
            }
            host_address.store(copies_.find(coherence::host)->memory->host_address(), std::memory_order_release);
            ready.store(found, std::memory_order_release);
        }
        const std::uint8_t device = default_space.load(std::memory_order_relaxed);
        // A pointer to the host in the place of a device is a host pointer: one that may be written has to be out
        // already.
        const bool exposes = device == host_in_place_of_device && copies_.options().access != host_access::read_only;
        if (device != no_space && coherence::has(known.current, device) && known.exposed == exposes) {
            device_handle.store(handle_of(*copies_.find(device)), std::memory_order_release);
            device_ready.store(++openings_ << 8 | device, std::memory_order_release);
        }
    }
    solo.fetch_and(~by_lock, std::memory_order_release);
}

bool core::locked::wait_for_change(std::chrono::steady_clock::time_point deadline) {
    ++core_.waiting_;
    std::cv_status status = std::cv_status::no_timeout;
    if (deadline == std::chrono::steady_clock::time_point::max()) {
        core_.changed_.wait(lock_);
    } else {
        status = core_.changed_.wait_until(lock_, deadline);
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

void core::check_allocated(const copy* there, space where, const char* verb) const {
    if (there) return;
    throw error(error_code::not_allocated,
                fmt::format("{}: {} was asked for, but there is no copy at {} yet: access it first", name(), verb,
                            where.name()));
}

void core::make_copy(space where) {
    if (copies_.find(where.id())) return;
    try {
        copies_.make(where.id());
    } catch (const error& failure) {
        throw error(failure.code(),
                    fmt::format("{}: a copy at {} was asked for: {}", name(), where.name(), failure.what()));
    }
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

lease_bytes core::lease(const demand& asked) {
    return grant(asked, [&](copy& there) {
        work_.reserve(leases_.size() + 1);
        const std::uint64_t ticket = leases_.add(
            {.range = asked.range, .where = asked.where, .what = asked.what, .thread = this_thread(), .on = asked.on});
        if (asked.what != access::read && !asked.begins_later) {
            try {
                now_written(asked.range, asked.where);
            } catch (...) {
                leases_.remove(ticket);
                throw;
            }
        }
        std::byte* const address = host_addresses(there) ? there.memory->host_address() : nullptr;
        const native_memory native{
            .where = asked.where, .handle = handle_of(there), .offset = asked.range.begin, .bytes = asked.range.size()};
        return lease_bytes(*this, ticket << 1 | by_lock, asked.what, address ? address + asked.range.begin : nullptr,
                           native);
    });
}

void core::begin(const demand& leased) {
    const locked lock(*this);
    if (leased.what != access::read) now_written(leased.range, leased.where);
}

/// Queued work of the device, which the end of a lease leaves behind. It must not be lost: where the device cannot
/// record it now, whoever needs the bytes next asks it again.
void core::queue_all_work_of(space where, byte_range range, bool writes, queue on) noexcept {
    class unrecorded final : public fence::work {
    public:
        explicit unrecorded(backends::device& of) noexcept : of_(of) {}
        bool wait(std::chrono::nanoseconds timeout) override {
            const std::scoped_lock lock(mutex_);
            if (!recorded_) recorded_ = of_.record({});
            return recorded_->wait(timeout);
        }

    private:
        std::mutex mutex_;
        backends::device& of_;
        std::optional<fence> recorded_;
    };
    backends::device& device = backends::device_of(where);
    if (!device.about().asynchronous || range.empty()) return;
    fence done;
    try {
        done = device.record(on);
    } catch (const std::exception&) {
        done = fence(std::make_shared<unrecorded>(device));
    }
    if (!done.native()) return;
    work_.add({.range = range, .where = where.id(), .writes = writes}, {.done = done, .on = on});
}

void core::end_lease(std::uint64_t ticket) noexcept {
    bool last = false;
    {
        const locked lock(*this);
        if (ticket & by_lock) {
            const lease_record ended = leases_.remove(ticket >> 1);
            queue_all_work_of(ended.where, ended.range, ended.what != access::read, ended.on);
        } else {
            solo.fetch_and(by_lock, std::memory_order_acq_rel);
        }
        changed_.notify_all();
        last = ownerless_ && leases_.empty() && solo_lease().thread == 0;
    }
    if (last) delete this;
}

std::byte* core::host_pointer(byte_range range) {
    if (copies_.options().access == host_access::read_only) {
        return const_cast<std::byte*>(host_pointer_to_read(range));
    }
    return grant({.range = range, .where = host, .what = access::read_write, .why = cause::host_pointer},
                 [&](copy& there) {
                     any_exposed_ = true;
                     there.untouched = false;
                     coherence::expose(directory_, range);
                     return there.memory->host_address() + range.begin;
                 });
}

const std::byte* core::host_pointer_to_read(byte_range range) {
    return grant({.range = range, .where = host, .what = access::read, .why = cause::host_pointer},
                 [&](copy& there) { return there.memory->host_address() + range.begin; });
}

void core::end_host_pointers(byte_range range) {
    locked lock(*this);
    wait_for_turn(lock, {.range = range, .where = host, .what = access::write});
    coherence::end_exposure(directory_, range);
}

native_memory core::device_handle_of(byte_range range) {
    const space where = backends::current_device();
    return grant({.range = range, .where = where, .what = access::read, .why = cause::device_handle}, [&](copy& there) {
        if (where == backends::host_as_device && copies_.options().access != host_access::read_only) {
            any_exposed_ = true;
            copies_.find(coherence::host)->untouched = false;
            coherence::complete(
                directory_, copies_.memories(),  // one memory, and no step is needed to see it
                {.does = coherence::step::kind::publish, .range = range, .from = where.id(), .to = coherence::host});
            coherence::expose(directory_, range);
        }
        return native_memory{.where = where, .handle = handle_of(there), .offset = range.begin, .bytes = range.size()};
    });
}

void core::sync(space where, byte_range range) {
    {
        const std::scoped_lock lock(mutex_);
        if (copies_.allocated() == 0) {
            throw error(error_code::not_allocated,
                        name() + ": to synchronize was asked for, but it has no copy yet: access it first");
        }
    }
    grant({.range = range, .where = where, .what = access::read, .why = cause::sync}, [](copy&) {});
}

void core::mark(space where, byte_range range) {
    locked lock(*this);
    wait_for_turn(lock, {.range = range, .where = where, .what = access::write});
    check_allocated(copies_.find(where.id()), where, "to mark it dirty");
    work_.reserve(leases_.size() + 1);
    queue_all_work_of(where, range, true, {});
    now_written(range, where);
}

void core::prefetch(const demand& asked) {
    grant(asked, [](copy&) {});
}

void core::discard(space where, byte_range range) {
    const demand asked{.range = range, .where = where, .what = access::write};
    locked lock(*this);
    wait_for_turn(lock, asked);
    if (!copies_.find(where.id())) return;
    const byte_range only = coherence::only_at(directory_, range, where.id());
    if (!only.empty()) {
        throw error(
            error_code::access_conflict,
            fmt::format("{}: to discard the copy at {} was asked for, but bytes [{}, {}) are current nowhere else: "
                        "synchronize another space first, or use discard_content",
                        name(), where.name(), only.begin, only.end));
    }
    steps(*this, lock, asked).wait_for_all_work();
    coherence::drop(directory_, range, where.id());
    if (range == directory_.whole()) copies_.free(where.id());
}

void core::discard_content(byte_range range) {
    locked lock(*this);
    wait_for_turn(lock, {.range = range, .where = host, .what = access::write});
    coherence::drop_content(directory_, range);
}

void core::fill(byte_range range, std::span<const std::byte> pattern) {
    demand asked{.range = range, .where = host, .what = access::write};
    locked lock(*this);
    wait_for_turn(lock, asked);
    coherence::space_set current = copies_.allocated();
    directory_.for_each(range, [&](byte_range, const coherence::knowledge& known) {
        current &= known.exposed ? coherence::set_of(coherence::host) : known.current;
    });
    coherence::for_each_space(current, [&](coherence::space_id each) { asked.where = space::from_id(each); });
    make_copy(asked.where);
    steps work(*this, lock, asked);
    work.run();
    work.fill(pattern);
    now_written(range, asked.where);
}

buffer_state core::state() const {
    const std::scoped_lock lock(mutex_);
    return coherence::state_of(directory_, copies_.allocated());
}

statistics core::statistics() const {
    const std::scoped_lock lock(mutex_);
    return {.transfers = transfers_, .publications = publications_, .fence_waits = fence_waits_};
}

std::size_t core::ranges() const {
    const std::scoped_lock lock(mutex_);
    return directory_.ranges();
}

placement_info core::placement(space where) const {
    const std::scoped_lock lock(mutex_);
    const copy* const there = copies_.find(where.id());
    check_allocated(there, where, "its placement");
    return {there->placed, there->reason};
}

void end_by_lock(gate& of, std::uint64_t ticket) noexcept { static_cast<core&>(of).end_lease(ticket); }

std::uint32_t number_thread() noexcept {
    static std::atomic<std::uint32_t> last;
    thread_number = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return thread_number;
}

}  // namespace unibuf::detail
