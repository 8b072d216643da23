// access/gaps.cpp: joins ranges over gaps that may be moved again, and cuts long ones.
#include "access/gaps.hpp"

#include "memory/transfer_costs.hpp"

namespace unibuf::detail {
namespace {

/// Returns whether `gap` may be moved again. What lies beside the claim, as between the rows of a rectangle, is written
/// by others while the lock is let go of.
bool may_carry(const guarded& state, byte_range gap, const coherence::step& along, const region& claimed,
               std::uint64_t ticket) {
    if (!claimed.contains(gap)) return false;
    const coherence::space_set ends = coherence::set_of(along.from) | coherence::set_of(along.to);
    if (state.copies.memories().group(along.to) != coherence::set_of(along.to)) return false;
    if (state.holds.any_other(gap, ticket)) return false;
    const bool is_needed = state.directory.any(gap, [&](const coherence::knowledge& k) {
        const bool written_unseen = k.exposed() && along.to == coherence::host;
        return (k.current & ends) != ends || k.lost || written_unseen;
    });
    return !is_needed && !state.holds.work().any(gap, [](const coherence::queued_work&, const work&) { return true; });
}

}  // namespace

std::vector<byte_range> joined_over_gaps(const guarded& state, const std::vector<byte_range>& ranges,
                                         const coherence::step& along, coherence::space_id executor,
                                         const region& claimed, std::uint64_t ticket) {
    const bool any_near = joined(ranges, widest_gap, [](byte_range) { return true; }).size() < ranges.size();
    if (!any_near) return ranges;
    const std::size_t gap = worthwhile_gap(executor);
    if (gap == 0) return ranges;
    return joined(ranges, gap, [&](byte_range each) { return may_carry(state, each, along, claimed, ticket); });
}

void add_in_parts(std::span<const coherence::step> whole, std::size_t most, coherence::steps& to) {
    for (coherence::step each : whole) {
        if (each.does == coherence::step::kind::move && each.part.is_range()) {
            const std::size_t end = each.part.hull().end;
            for (std::size_t next = each.part.hull().begin / most * most + most; next < end; next += most) {
                each.part = byte_range{each.part.hull().begin, next};
                to.push_back(each);
                each.part = byte_range{next, end};
            }
        }
        to.push_back(std::move(each));
    }
}

}  // namespace unibuf::detail
