// buffer/core_verbs.cpp: what can be asked of a buffer.
#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <optional>

#include "backends/spaces.hpp"
#include "buffer/core_access.hpp"

namespace unibuf::detail {

lease_bytes core::lease(const demand& asked) {
    return grant(asked, [&](copy& there) {
        if (backends::device_of(asked.where).about().asynchronous) work_.reserve(leases_.size() + 1);
        const std::uint64_t ticket = leases_.add(
            {.range = asked.range, .on = asked.on, .thread = this_thread(), .where = asked.where, .what = asked.what});
        if (asked.what != access::read && !asked.begins_later) {
            try {
                now_written(asked.range, asked.where);
            } catch (...) {
                leases_.remove(ticket);
                throw;
            }
        }
        std::byte* const address = there.address();
        const native_memory native{
            .where = asked.where, .handle = there.handle(), .offset = asked.range.begin, .bytes = asked.range.size()};
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
        tell_waiting();
        last = ownerless_ && leases_.empty() && solo_lease().thread == 0;
    }
    if (last) delete this;
}

native_memory core::device_handle_of(byte_range range) {
    const space where = backends::current_device();
    return grant({.range = range, .where = where, .what = access::read, .why = cause::device_handle}, [&](copy& there) {
        if (where == backends::host_as_device && copies_.options().access != host_access::read_only) {
            coherence::complete(
                directory_, copies_.memories(),  // one memory, and no step is needed to see it
                {.does = coherence::step::kind::publish, .range = range, .from = where.id(), .to = coherence::host});
            give_host_pointer(range, false);
        }
        there.handed_out = true;
        return native_memory{.where = where, .handle = there.handle(), .offset = range.begin, .bytes = range.size()};
    });
}

void core::end_device_handles() {
    const locked lock(*this);
    for (copy& each : copies_) each.handed_out = each.handed_out && each.where == coherence::host;
}

copy_view core::begin_copy_view(space where, byte_range range) {
    const cause why = where == host ? cause::host_pointer : cause::device_handle;
    return grant({.range = range, .where = where, .what = access::read, .why = why},
                 [&](copy& there) { return view_of(there, where, range); });
}

copy_view core::hold_copy(space where, byte_range range) {
    const locked lock(*this);
    copy* const there = copies_.find(where.id());
    check_allocated(there, where, "to hold it");
    return view_of(*there, where, range);
}

copy_view core::view_of(copy& there, space where, byte_range range) {
    if (there.views == std::numeric_limits<std::uint16_t>::max()) {
        throw error(error_code::unsupported,
                    fmt::format("{}: {} views of the copy at {} are held", name(), there.views, where.name()));
    }
    ++there.views;
    add_handle();
    std::byte* const address = there.address();
    const native_memory native{.where = where, .handle = there.handle(), .offset = range.begin, .bytes = range.size()};
    return unibuf::copy_view(*this, native, address ? address + range.begin : nullptr);
}

void core::end_copy_view(space where) noexcept {
    const locked lock(*this);
    copy* const there = copies_.find(where.id());
    if (there && there->views != 0) --there->views;  // one that has parted from another's memory is another copy
}

void core::check_has_copy() const {
    const std::scoped_lock lock(mutex_);
    if (copies_.allocated() != 0) return;
    throw error(error_code::not_allocated,
                name() + ": to synchronize was asked for, but it has no copy yet: access it first");
}

void core::sync(space where, byte_range range) {
    grant({.range = range, .where = where, .what = access::read, .why = cause::sync}, [](copy&) {});
}

void core::mark(const demand& asked) {
    const byte_range range = asked.range;
    space where = asked.where;
    locked lock(*this);
    // The host in the place of a device is the host, whether device() was called or not.
    if (where == backends::host_as_device && !copies_.find(where.id())) where = host;
    wait_for_turn(lock, {.range = range, .where = where, .what = access::write, .deadline = asked.deadline});
    check_allocated(copies_.find(where.id()), where, "to mark it dirty");
    work_.reserve(leases_.size() + 1);
    queue_all_work_of(where, range, true, asked.on);
    if (const copy* const borrower = copies_.borrower_among(where.id())) where = space::from_id(borrower->holder());
    if (any_exposed_) writes()->forget(range);
    before_device_writes(where, range);
    now_written(range, where);
}

void core::prefetch(const demand& asked) {
    grant(asked, [](copy&) {});
}

void core::discard(space where, byte_range range) {
    const demand asked{.range = range, .where = where, .what = access::write};
    locked lock(*this);
    do {
        wait_for_turn(lock, asked);
    } while (making_copy_ && lock.wait_for_change(asked.deadline));
    const copy* const there = copies_.find(where.id());
    if (!there) return;
    if (any_exposed_) {
        find_host_writes(asked);
        const bool settles = !coherence::contested_in(directory_, range).empty();
        coherence::settle_without(directory_, range, where.id());
        if (where == host && settles) return;  // the memory stays: pointers to it are out
    }
    if (where == host) check_no_pointers(range, "to discard the copy at host");
    if (there->views != 0) {
        throw error(error_code::access_conflict,
                    fmt::format("{}: to discard the copy at {} was asked for, but views of it are held: end them first",
                                name(), where.name()));
    }
    if (range == directory_.whole() && there->borrows() && there->has_turn) {
        demand lender = asked;
        lender.where = space::from_id(there->lender);
        std::string why;
        steps(*this, lock, lender).hand_over(why);
    }
    const byte_range only = coherence::only_at(directory_, range, where.id());
    if (!only.empty()) {
        throw error(
            error_code::access_conflict,
            fmt::format("{}: to discard the copy at {} was asked for, but bytes [{}, {}) are current nowhere else: "
                        "synchronize another space first, or use discard_content",
                        name(), where.name(), only.begin, only.end));
    }
    steps(*this, lock, asked).wait_for_all_work();
    if (range == directory_.whole()) return drop_copy(where);
    coherence::drop(directory_, range, where.id());
}

/// It is current elsewhere, and no work is under way there.
void core::drop_copy(space where) {
    coherence::drop(directory_, directory_.whole(), where.id());
    if (where == host && rare_) {
        rare_->writes.reset();
        any_exposed_ = false;
    }
    copies_.free(where.id());
}

void core::discard_content(byte_range range) {
    locked lock(*this);
    wait_for_turn(lock, {.range = range, .where = host, .what = access::write});
    if (host_writes* const known = writes()) known->holders().end_pointers(range);
    check_no_pointers(range, "to discard its content");
    coherence::drop_content(directory_, range);
}

void core::fill(byte_range range, std::span<const std::byte> pattern) {
    demand asked{.range = range, .where = host, .what = access::write};
    locked lock(*this);
    wait_for_turn(lock, asked);
    coherence::space_set current = copies_.allocated();
    directory_.for_each(range, [&](byte_range, const coherence::knowledge& known) {
        current &= known.taken_for_written() ? coherence::set_of(coherence::host) : known.current;
    });
    coherence::for_each_space(current, [&](coherence::space_id each) { asked.where = space::from_id(each); });
    take_turn(lock, asked);
    if (any_exposed_) find_host_writes(asked);
    before_device_writes(asked.where, range);
    steps work(*this, lock, asked);
    work.run();
    work.fill(pattern);
    now_written(range, asked.where);
}

void core::put(byte_range range, const std::byte* from) {
    const demand asked{.range = range, .where = host, .what = access::write, .why = cause::read_write};
    const auto write = [&](const copy& there) {
        now_written(range, host);
        std::memcpy(there.memory->host_address() + range.begin, from, range.size());
    };
    {
        check_allowed(asked);
        const locked lock(*this);
        const copy* const there = copies_.find(coherence::host);
        if (there && is_settled()) return write(*there);
    }
    grant(asked, write);
}

}  // namespace unibuf::detail
