// buffer/steps_move.cpp: where bytes move from one copy to another.
#include <algorithm>
#include <exception>
#include <optional>
#include <vector>

#include "backends/spaces.hpp"
#include "buffer/core_access.hpp"
#include "buffer/transfer_costs.hpp"
#include "trace/counters.hpp"

namespace unibuf::detail {
namespace {

using coherence::step;

constexpr std::size_t staging_bytes = std::size_t{4} << 20;

/// Between two devices that only the host reaches.
void move_staged(backends::memory& from, backends::memory& to, byte_range range) {
    std::vector<std::byte> staging(std::min(range.size(), staging_bytes));
    for (std::size_t offset = range.begin; offset < range.end; offset += staging.size()) {
        const std::span part(staging.data(), std::min(staging.size(), range.end - offset));
        from.read(offset, part, {}).wait();
        to.write(offset, part, {}).wait();
    }
}

fence move_between_devices(backends::memory& from, backends::memory& to, byte_range range, queue on) {
    if (const std::optional<fence> done = to.write_from(from, range.begin, range.size(), on)) return *done;
    if (!to.host_address()) {
        move_staged(from, to, range);
        return {};
    }
    from.read(range.begin, {to.host_address() + range.begin, range.size()}, {}).wait();  // not the target's own work
    return {};
}

}  // namespace

fence core::steps::move(const step& step) {
    backends::memory& from = *core_.copies_.find(step.from)->memory;
    copy& target = *core_.copies_.find(step.to);
    backends::memory& to = *target.memory;
    target.untouched = false;
    const std::size_t offset = step.range.begin;
    const std::size_t bytes = step.range.size();
    const queue on = queue_at(executor_of(step));
    const locked::pause unlocked(lock_);
    if (step.to == coherence::host) return from.read(offset, {to.host_address() + offset, bytes}, on);
    if (from.host_address()) return to.write(offset, {from.host_address() + offset, bytes}, on);
    return move_between_devices(from, to, step.range, on);
}

/// Moves between the same two memories, which the device between them may do in one call.
void core::steps::start_moves(std::span<const step> group) {
    const step& first = group.front();
    const std::vector<byte_range> ranges = ranges_to_move(group);
    backends::memory& from = *core_.copies_.find(first.from)->memory;
    copy& target = *core_.copies_.find(first.to);
    backends::memory& to = *target.memory;
    target.untouched = false;
    const queue on = queue_at(executor_of(first));
    const auto begin = std::chrono::steady_clock::now();
    std::vector<fence> done;
    done.reserve(ranges.size());
    std::vector<std::optional<host_writes::own_write>> guards;
    guards.reserve(ranges.size());
    for (const byte_range& each : ranges) guards.push_back(guard(each, first.to));
    std::exception_ptr failure;
    {
        const locked::pause unlocked(lock_);
        try {
            std::vector<backends::part> parts;
            parts.reserve(ranges.size());
            for (const byte_range& each : ranges) parts.push_back({each.begin, each.size()});
            if (first.to == coherence::host) {
                from.read_parts(parts, to.host_address(), on, done);
            } else if (from.host_address()) {
                to.write_parts(parts, from.host_address(), on, done);
            } else {
                for (const byte_range& each : ranges) done.push_back(move_between_devices(from, to, each, on));
            }
        } catch (...) {
            failure = std::current_exception();
        }
    }
    for (std::size_t i = 0; i < done.size(); ++i) {
        step moved = first;
        moved.range = ranges[i];
        started({moved, done[i], std::move(guards[i])});
    }
    if (!done.empty()) {
        const std::span moved = std::span(ranges).first(done.size());
        core_.count(first, asked_.why, moved, begin, std::chrono::steady_clock::now());
    }
    if (failure) std::rethrow_exception(failure);
}

/// Those of the group, some of them joined. What lies between is no longer current where it goes until it has arrived.
std::vector<byte_range> core::steps::ranges_to_move(std::span<const step> group) {
    const step& first = group.front();
    std::vector<byte_range> ranges;
    ranges.reserve(group.size());
    for (const step& each : group) ranges.push_back(each.range);

    const bool any_near = joined(ranges, widest_gap, [](byte_range) { return true; }).size() < ranges.size();
    if (!any_near) return ranges;
    std::size_t gap = 0;
    {
        const locked::pause unlocked(lock_);  // it may be measured now
        gap = worthwhile_gap(executor_of(first));
    }
    if (gap == 0) return ranges;
    std::vector<byte_range> result = joined(ranges, gap, [&](byte_range each) { return may_carry(each, first); });
    if (result.size() < ranges.size()) {
        for (const byte_range& each : result) coherence::drop(core_.directory_, each, first.to);
    }
    return result;
}

/// Whether `gap` may be moved again: current at both ends, and used by nobody.
bool core::steps::may_carry(byte_range gap, const step& along) const {
    const coherence::space_set ends = coherence::set_of(along.from) | coherence::set_of(along.to);
    bool may = core_.copies_.memories().group(along.to) == coherence::set_of(along.to) &&
               core_.solo_lease().thread == 0 && !core_.leases_.any_other(gap, claim_);
    core_.directory_.for_each(gap, [&](byte_range, const coherence::knowledge& known) {
        const bool written_unseen = known.exposed() && along.to == coherence::host;
        may &= (known.current & ends) == ends && !known.lost && !written_unseen;
    });
    return may && std::ranges::none_of(core_.work_.ranges(),
                                       [&](const coherence::queued_work& each) { return each.range.overlaps(gap); });
}

void core::count(const step& of, cause why, std::span<const byte_range> moved,
                 std::chrono::steady_clock::time_point begin, std::chrono::steady_clock::time_point end) {
    transfer made{.buffer = id_,
                  .from = space::from_id(of.from),
                  .to = space::from_id(of.to),
                  .why = why,
                  .begin = begin,
                  .end = end};
    std::uint64_t sum = 0;
    for (const byte_range& each : moved) sum += each.size();
    trace::count_transfers(made.from, made.to, made.why, moved.size(), sum);
    const auto same = std::ranges::find_if(transfers_, [&](const transfer_count& each) {
        return each.from == made.from && each.to == made.to && each.why == made.why;
    });
    if (same != transfers_.end()) {
        same->transfers += moved.size();
        same->bytes += sum;
    } else {
        transfers_.push_back({made.from, made.to, made.why, moved.size(), sum});
    }
    transfer_observer* const observer = trace::observer();
    if (!observer) return;
    for (const byte_range& each : moved) {
        made.offset = each.begin;
        made.bytes = each.size();
        observer->on_transfer(made);
    }
}

}  // namespace unibuf::detail
