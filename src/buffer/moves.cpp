// buffer/moves.cpp: the routes between two memories.
#include "buffer/moves.hpp"

#include <algorithm>

#include "buffer/transfers.hpp"
#include "memory/transfer_costs.hpp"

namespace unibuf::detail {
namespace {

constexpr std::size_t staging_bytes = std::size_t{4} << 20;

/// Moves bytes between two memories that only the host reaches.
void move_staged(backends::memory& from, byte_range range, backends::memory& to, std::size_t offset) {
    std::vector<std::byte> staging(std::min(range.size(), staging_bytes));
    for (std::size_t done = 0; done < range.size(); done += staging.size()) {
        const std::span piece(staging.data(), std::min(staging.size(), range.size() - done));
        from.read(range.begin + done, piece, {}).wait();
        to.write(offset + done, piece, {}).wait();
    }
}

/// Returns whether `gap` may be moved again.
bool may_carry(const guarded& state, byte_range gap, const coherence::step& along, std::uint64_t ticket) {
    const coherence::space_set ends = coherence::set_of(along.from) | coherence::set_of(along.to);
    if (state.copies.memories().group(along.to) != coherence::set_of(along.to)) return false;
    if (state.holds.any_other(gap, ticket)) return false;
    const bool is_needed = state.directory.any(gap, [&](const coherence::knowledge& k) {
        const bool written_unseen = k.exposed() && along.to == coherence::host;
        return (k.current & ends) != ends || k.lost || written_unseen;
    });
    return !is_needed && std::ranges::none_of(state.holds.work().ranges(), [&](const coherence::queued_work& each) {
        return each.range.overlaps(gap);
    });
}

}  // namespace

fence move_on_devices(backends::memory& from, byte_range range, backends::memory& to, std::size_t offset, queue on) {
    if (to.takes_from(from)) return to.write_from(from, range.begin, offset, range.size(), on);
    if (!to.host_address()) {
        move_staged(from, range, to, offset);
        return {};
    }
    to.show(offset, range.size());
    from.read(range.begin, {to.host_address() + offset, range.size()}, {}).wait();  // not on the target's queue
    return {};
}

void move_ranges(backends::memory& from, backends::memory& to, bool to_host, std::span<const byte_range> ranges,
                 queue on, std::vector<fence>& done) {
    std::byte* const host = to_host ? to.host_address() : from.host_address();
    if (!host) {
        for (const byte_range& each : ranges) done.push_back(move_on_devices(from, each, to, each.begin, on));
        return;
    }
    if (ranges.size() == 1) {
        const std::span bytes(host + ranges[0].begin, ranges[0].size());
        done.push_back(to_host ? from.read(ranges[0].begin, bytes, on) : to.write(ranges[0].begin, bytes, on));
        return;
    }
    std::vector<backends::part> parts;
    parts.reserve(ranges.size());
    for (const byte_range& each : ranges) parts.push_back({each.begin, each.size()});
    to_host ? from.read_parts(parts, host, on, done) : to.write_parts(parts, host, on, done);
}

std::vector<byte_range> joined_over_gaps(lock& through, const std::vector<byte_range>& ranges,
                                         const coherence::step& along, coherence::space_id executor,
                                         std::uint64_t ticket) {
    const bool any_near = joined(ranges, widest_gap, [](byte_range) { return true; }).size() < ranges.size();
    if (!any_near) return ranges;
    const std::size_t gap = worthwhile_gap(executor);
    if (gap == 0) return ranges;
    return joined(ranges, gap, [&](byte_range each) { return may_carry(*through.operator->(), each, along, ticket); });
}

coherence::space_id only_mover(std::span<const coherence::step> planned) noexcept {
    coherence::space_id mover = coherence::host;
    for (const coherence::step& each : planned) {
        if (each.does == coherence::step::kind::wait) continue;
        const bool by_one =
            each.does == coherence::step::kind::move && (each.from == coherence::host || each.to == coherence::host);
        if (!by_one || (mover != coherence::host && mover != executor_of(each))) return coherence::host;
        mover = executor_of(each);
    }
    return mover;
}

}  // namespace unibuf::detail
