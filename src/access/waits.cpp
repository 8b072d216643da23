// access/waits.cpp: fences are waited for without the lock.
#include "access/waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <vector>

#include "access/claim.hpp"
#include "access/transfers.hpp"
#include "access/within.hpp"
#include "trace/counters.hpp"

namespace unibuf::detail {
namespace {

/// Returns what the failed transfers should have written, and what transfers behind them copied from there: those bytes
/// are missing even where the later transfers succeed. The program's own work is left out, as nobody knows what it has
/// written.
std::vector<coherence::queued_work> missing_after(const guarded& state, const fence& failed) {
    using coherence::queued_work;
    const work_list& all = state.holds.work();
    std::vector<queued_work> missing;
    const auto add_written_by = [&](const fence& done, const region& within) {
        all.any(within, [&](const queued_work& each, const work& of) {
            const bool is_meant = of.transfer && !of.orphaned && of.done.native() == done.native();
            if (!is_meant || !each.writes) return false;
            for (const region& part : each.part.common_with(within)) {
                const auto known = [&](const queued_work& other) {
                    return other.where == each.where && other.part.contains(part);
                };
                if (std::ranges::any_of(missing, known)) continue;
                missing.push_back({.part = part, .where = each.where, .writes = true});
            }
            return false;
        });
    };
    add_written_by(failed, state.whole());
    for (std::size_t next = 0; next != missing.size();) {
        const auto [ticket, part, where, writes] = missing[next++];
        all.any(part, [&, &part = part, &where = where](const queued_work& each, const work& copying) {
            const bool copied_on = !each.writes && each.where == where && copying.transfer && !copying.orphaned;
            if (copied_on) add_written_by(copying.done, part);
            return false;
        });
    }
    return missing;
}

bool is_in(const byte_ranges& looked_at, const region& part) {
    return std::ranges::any_of(looked_at, [&](byte_range each) { return part.overlaps(each); });
}

void forget_failed(guarded& state, const fence& failed) {
    for (const coherence::queued_work& each : missing_after(state, failed)) {
        coherence::did_not_arrive(state.directory, each.part, each.where);
        state.any_lost = true;
    }
    state.holds.work().remove_where(
        [&](const coherence::queued_work&, const work& each) { return each.done.native() == failed.native(); });
}

/// Lets go of a fence at its own end. An event is code of the program, also where it is destroyed: that is done with
/// the lock released.
class let_go_of {
public:
    let_go_of(lock& locked, fence& of, bool is_event) noexcept : lock_(locked), of_(of), is_event_(is_event) {}
    ~let_go_of() {
        if (!is_event_) return;
        const lock::released unlocked(lock_);
        of_ = {};
    }
    let_go_of(const let_go_of&) = delete;
    let_go_of& operator=(const let_go_of&) = delete;

private:
    lock& lock_;
    fence& of_;
    bool is_event_;
};

/// An event that uses its own buffer would be asked again and again.
using look_at_events = within<struct looking_at_events, core>;

std::chrono::nanoseconds time_until(clock::time_point when) {
    if (when == clock::time_point::max()) return forever;
    return std::max<std::chrono::nanoseconds>(when - clock::now(), std::chrono::nanoseconds::zero());
}

}  // namespace

void wait_for_work(lock& locked, const work_list::ticket& ticket, const wait_limit& limit) {
    const work* const found = locked->holds.work().find(ticket);
    if (!found) return;
    fence done = found->done;
    const let_go_of last(locked, done, found->unordered);
    const bool orphaned = found->orphaned;
    const bool is_event = found->unordered;
    const std::exception_ptr failed = found->failure;
    const auto reached_in = [&](std::chrono::nanoseconds time) {
        try {
            const lock::released unlocked(locked);
            if (failed) std::rethrow_exception(failed);
            try {
                return done.wait(time);
            } catch (const error&) {
                if (is_event) throw;     // it may tell of its failure once
                return done.wait(time);  // Work that has failed says so again; a driver that could not may tell now.
            }
        } catch (const error& failure) {
            // Another thread can ask: the work may be under way still.
            if (failure.code() == error_code::device_unavailable) throw;
            if (orphaned) return true;
            forget_failed(*locked, done);
            throw;
        } catch (...) {
            if (orphaned) return true;
            forget_failed(*locked, done);
            throw;
        }
    };
    // To ask for late work costs more than to wait for it.
    const bool asks_first = !(limit.is_endless() && found->is_late());
    if (!asks_first || !reached_in(std::chrono::nanoseconds::zero())) {
        trace::count_fence_wait();
        ++locked->with_seldom_used().fence_waits;
        while (!reached_in(time_until(limit.next_look()))) {
            if (limit.has_passed()) {
                throw error(error_code::timeout, "work queued before is not done in the time that was given");
            }
            const lock::released unlocked(locked);
            limit.ask();
        }
    }
    locked->holds.work().remove(ticket);
}

void forget_events(lock& locked, const access_request& request) {
    if (locked->holds.work().empty()) return;
    auto events = locked->holds.work().events(request.part);
    if (events.empty()) return;
    if (look_at_events::is_at(locked.of())) {
        throw error(error_code::access_conflict,
                    fmt::format("{}: {} was asked for by an event of the program's own, which an access of the same "
                                "buffer asks whether it has come: it has to wait until that access is over",
                                locked.of().name(), describe(request)));
    }
    const look_at_events now(locked.of());
    std::vector<work_list::ticket> come;
    come.reserve(events.size());
    std::vector<std::pair<work_list::ticket, std::exception_ptr>> failed;
    failed.reserve(events.size());
    ++locked->waiting;  // keeps the gate shut
    {
        const lock::released unlocked(locked);
        for (const auto& [ticket, event] : events) {
            try {
                if (event.done()) come.push_back(ticket);
            } catch (const error& failure) {  // an access that waits for the event is told
                const bool others_can_ask = failure.code() == error_code::device_unavailable;
                if (!others_can_ask) failed.emplace_back(ticket, std::current_exception());
            } catch (...) {
                failed.emplace_back(ticket, std::current_exception());
            }
        }
    }
    for (const work_list::ticket& ticket : come) locked->holds.work().remove(ticket);
    for (const auto& [ticket, why] : failed) locked->holds.work().note_failure(ticket, why);
    {
        const lock::released unlocked(locked);
        events.clear();  // those that have come are destroyed
    }
    --locked->waiting;
}

void wait_for_work_in_host_memory(lock& locked, const access_request& request) {
    assert(locked->any_exposed);
    if (locked->holds.work().empty()) return;
    const auto in_the_way = [&] { return work_in_host_memory(*locked, request); };
    if (in_the_way().empty()) return;
    locked->holds.work().forget_done(request.part);
    const std::vector<work_list::ticket> tickets = in_the_way();
    if (tickets.empty()) return;
    claim keep(*locked);
    keep.take(request.part, request);
    for (const work_list::ticket& ticket : tickets) {
        try {
            wait_for_work(locked, ticket, request.waits);
        } catch (const error& failure) {
            // Work that has failed matters to whoever reads its bytes.
            if (request.what != access::write || failure.code() == error_code::timeout) {
                rethrow_naming_access(locked.of(), request, failure);
            }
        }
    }
}

std::vector<work_list::ticket> work_in_host_memory(const guarded& state, const access_request& request) {
    std::vector<work_list::ticket> result;
    const bool uses_it = request.where == host || state.shares_host(request.where);
    const byte_ranges looked_at = uses_it ? state.writes()->compared(request.part.hull())
                                          : byte_ranges(state.writes()->around(request.part.hull()));
    state.holds.work().any([&](const coherence::queued_work& each, const work&) {
        const bool is_there = each.writes && state.shares_host(space::from_id(each.where));
        if (is_there && is_in(looked_at, each.part)) result.push_back(each.ticket);
        return false;
    });
    return result;
}

void wait_for_work_at(lock& locked, coherence::space_id where, bool transfers_only, const wait_limit& limit) {
    std::vector<work_list::ticket> tickets;
    locked->holds.work().any([&](const coherence::queued_work& each, const work& of) {
        if (each.where == where && (of.transfer || !transfers_only)) tickets.push_back(each.ticket);
        return false;
    });
    for (const work_list::ticket& ticket : tickets) wait_for_work(locked, ticket, limit);
}

}  // namespace unibuf::detail
