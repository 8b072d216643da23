// buffer/core_batch.cpp: how a buffer takes part in a transfer that many make together.
//
// A batch waits for nobody while it holds claims of other buffers: a buffer that would have it wait, or whose bytes
// take more than a move between the host and one device, does its sync alone.
#include <new>

#include "buffer/core_access.hpp"

namespace unibuf::detail {

/// As coherence::plan: the usual answer without the work.
void core::plan_sync(std::span<const byte_range> ranges, space where, std::vector<coherence::step>& planned) const {
    planned.clear();
    const coherence::knowledge& known = directory_.first();
    const bool alike = directory_.ranges() == 1 && known.what != coherence::content::unwritten && is_settled();
    if (alike && coherence::has(known.current, where.id())) return;
    if (alike && coherence::has(known.current, coherence::host)) {
        for (const byte_range& each : ranges) {
            planned.push_back({.does = coherence::step::kind::move, .range = each, .to = where.id()});
        }
        return;
    }
    for (const byte_range& each : ranges) {
        const auto more =
            coherence::plan(directory_, copies_.memories(), work_.ranges(), each, where.id(), access::read);
        planned.insert(planned.end(), more.begin(), more.end());
    }
}

bool core::join(joint_transfer& transfer, space where, std::span<const byte_range> ranges) {
    const byte_range range{ranges.front().begin, ranges.back().end};
    const demand asked{.range = range, .where = where, .what = access::read, .why = cause::sync};
    locked lock(*this);
    if (!copies_.find(where.id()) || copies_.borrower_among(where.id()) || any_lost_) return false;
    const lease_record unlocked = solo_lease();
    if (unlocked.thread != 0 && unlocked.excludes(range, asked.what)) return false;
    if (leases_.excluding(range, asked.what, this_thread())) return false;
    if (any_exposed_) {
        if (where == host) return false;  // what arrives is told from what is written
        find_host_writes(asked);
        if (!coherence::contested_in(directory_, range).empty()) return false;
    }
    if (!work_.empty()) work_.forget_done();
    std::vector<coherence::step>& planned = transfer.planned;
    plan_sync(ranges, where, planned);
    if (planned.empty()) return true;
    const coherence::step& first = planned.front();
    for (const coherence::step& each : planned) {
        const bool by_one_device = each.from == coherence::host || each.to == coherence::host;
        if (each.does != coherence::step::kind::move || !each.is_like(first) || !by_one_device) return false;
    }
    backends::memory* const device = copies_.find(executor_of(first))->memory;
    std::byte* const address = copies_.find(coherence::host)->memory->host_address();
    joint_transfer::one_way& way = transfer.way_of(first);
    const std::size_t others = way.members.size();
    const std::size_t moves_of_others = way.moves.size();
    try {
        for (const coherence::step& each : planned) {
            way.moves.push_back({device, each.range.begin, {address + each.range.begin, each.range.size()}});
        }
        way.members.push_back({this, 0, planned.size()});
        way.members.back().claim =
            leases_.add({.range = range, .thread = this_thread(), .where = where, .what = asked.what, .claim = true});
    } catch (...) {
        way.moves.resize(moves_of_others);
        way.members.resize(others);
        throw;
    }
    copies_.find(first.to)->untouched = false;
    if (resident_) used_ = ticks_at(transfer.begin);
    return true;
}

void core::leave(std::uint64_t claim, const coherence::step& like, std::span<const backends::move_of> moved,
                 std::chrono::steady_clock::time_point begin) noexcept {
    const locked lock(*this);
    leases_.remove(claim);
    tell_waiting();
    if (moved.empty()) return;
    try {
        has_moved(like, moved, begin);
    } catch (const std::bad_alloc&) {  // what cannot be noted is moved again
    }
}

void core::has_moved(const coherence::step& like, std::span<const backends::move_of> moved,
                     std::chrono::steady_clock::time_point begin) {
    const auto end = std::chrono::steady_clock::now();
    const auto range_of = [](const backends::move_of& each) {
        return byte_range{each.offset, each.offset + each.host.size()};
    };
    if (moved.size() == 1) {
        coherence::step only = like;
        only.range = range_of(moved[0]);
        count(only, cause::sync, {&only.range, 1}, begin, end);
        coherence::complete(directory_, copies_.memories(), only);
        return;
    }
    std::vector<byte_range> ranges;
    ranges.reserve(moved.size());
    for (const backends::move_of& each : moved) ranges.push_back(range_of(each));
    count(like, cause::sync, ranges, begin, end);
    coherence::complete(directory_, copies_.memories(), like, byte_ranges::of(std::move(ranges)));
}

}  // namespace unibuf::detail
