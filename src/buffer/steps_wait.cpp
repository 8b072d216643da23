// buffer/steps_wait.cpp: waiting for queued work, and what becomes of work that has failed.
#include <algorithm>

#include "backends/spaces.hpp"
#include "buffer/core_access.hpp"
#include "trace/counters.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

/// Whether what the device is asked for now is done after `before`, without stopping the host.
bool core::steps::comes_after(const work& before) const {
    backends::device& device = backends::device_of(space::from_id(executor_));
    return device.order(before.done, asked_.on);
}

void core::steps::wait(std::uint64_t ticket) {
    const work* const found = core_.work_.find(ticket);
    if (!found) return;
    const fence done = found->done;
    if (returns_early_ && comes_after(*found)) return;
    const auto reached_in = [&](std::chrono::nanoseconds time) {
        const locked::pause unlocked(lock_);
        try {
            return done.wait(time);
        } catch (const error&) {
            return done.wait(time);  // Work that has failed says so again; a driver that could not tell may tell now.
        }
    };
    bool reached = false;
    try {
        reached = reached_in(std::chrono::nanoseconds::zero());
        if (!reached) {
            trace::count_fence_wait();
            ++core_.with_rare().fence_waits;
            const bool forever_long = asked_.deadline == std::chrono::steady_clock::time_point::max();
            reached = reached_in(forever_long ? forever : asked_.deadline - std::chrono::steady_clock::now());
        }
    } catch (...) {
        did_fail(done);
        throw;
    }
    if (!reached) {
        throw error(error_code::timeout, "work queued before is not done in the time that was given");
    }
    core_.work_.remove(ticket);
}

/// Forgets failed work, and tells the directory what it has not written; nor have transfers that were queued behind it,
/// though they may end well. Of the caller's own work nobody knows what it has written.
void core::steps::did_fail(const fence& failed) {
    const auto ranges = core_.work_.ranges();
    const auto is_of = [&](const coherence::queued_work& each, const fence& done) {
        const work& queued = *core_.work_.find(each.ticket);
        return queued.transfer && queued.done.native() == done.native();
    };
    std::vector<coherence::queued_work> missing;
    const auto add_written_by = [&](const fence& done, byte_range within) {
        for (coherence::queued_work each : ranges) {
            if (!each.writes || !is_of(each, done)) continue;
            each.range = each.range.clipped_to(within);
            const auto known = [&](const coherence::queued_work& other) {
                return other.where == each.where && other.range.contains(each.range);
            };
            if (std::ranges::none_of(missing, known)) missing.push_back(each);
        }
    };
    add_written_by(failed, core_.directory_.whole());
    for (std::size_t next = 0; next != missing.size();) {
        const auto [ticket, range, where, writes] = missing[next++];
        for (const coherence::queued_work& each : ranges) {
            const bool copied_on = !each.writes && each.where == where && each.range.overlaps(range);
            if (!copied_on) continue;
            const work& copying = *core_.work_.find(each.ticket);
            if (copying.transfer) add_written_by(copying.done, range);
        }
    }
    for (const coherence::queued_work& each : missing) {
        coherence::did_not_arrive(core_.directory_, each.range, each.where);
    }
    core_.any_lost_ |= !missing.empty();
    core_.work_.remove_all_of(failed);
}

void core::steps::wait_for_all_work() {
    claim(asked_.range);
    std::vector<std::uint64_t> tickets;
    for (const coherence::queued_work& each : core_.work_.ranges()) {
        if (each.range.overlaps(asked_.range)) tickets.push_back(each.ticket);
    }
    try {
        for (const std::uint64_t ticket : tickets) wait(ticket);
    } catch (const error& failure) {
        tell(failure);
    }
}

}  // namespace unibuf::detail
