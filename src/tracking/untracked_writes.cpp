// tracking/untracked_writes.cpp: what is done where nobody finds what the program writes: contents are compared by
// digest where that costs less than to send them, and all else that pointers are out to is taken for written.
#include <chrono>
#include <exception>
#include <utility>

#include "coherence/transitions.hpp"
#include "trace/recorder.hpp"
#include "tracking/host_writes.hpp"
#include "unibuf/space.hpp"

namespace unibuf::detail {

using coherence::knowledge;
using coherence::pointers;
using std::chrono::steady_clock;

void host_writes::find_untracked(byte_range range, space where, access what) {
    const bool elsewhere = where != host;
    byte_ranges rest = range;
    if (elsewhere && what != access::write) {
        const byte_ranges unwritten = as_sent(range, where.id());
        byte_ranges unheld = unwritten;
        unheld.take_out(writers_.of(range));
        coherence::expose(known_, unheld, pointers::none);
        rest.take_out(unwritten);
    } else if (!elsewhere) {
        // The next access elsewhere compares what has a digest.
        rest.take_out(known_.where(range, [](const knowledge& k) { return k.digested && k.exposed(); }));
    }
    for (const byte_range& each : rest) {
        end_unheld(each);
        if (elsewhere || what != access::read) take_for_written(each);
    }
}

/// Returns the blocks of which some device has what the host has. What is not as it was sent has been written.
byte_ranges host_writes::as_sent(byte_range range, coherence::space_id device) {
    byte_ranges result;
    // What the host alone has was written by whom it may be: the next round tells whether pointers write it.
    const auto may_be_written = [](const knowledge& k) {
        const bool elsewhere_too = k.current != coherence::set_of(coherence::host);
        return k.taken_for_written() && (elsewhere_too || tracking::kernel::is_by_digest());
    };
    const auto is_compared = [&](const knowledge& k) { return k.digested && may_be_written(k); };
    if (!compares_by_digest()) return result;
    may_be_written_.add(known_.where(range, may_be_written));
    if (!digests_) return result;
    tracking::sections::for_each(range, [&](byte_range section) {
        if (!known_.any(section, &knowledge::taken_for_written)) return;
        byte_ranges pieces = known_.where(section, is_compared);
        pieces.take_out(writers_.unseen_of(section));  // those write all the time
        byte_ranges blocks;
        for (const byte_range& each : pieces) blocks.add(digests_->within(each));
        const steady_clock::time_point begin = steady_clock::now();
        std::vector<byte_range> changed;
        for (const byte_range& each : blocks) digests_->add_changed(each, changed);
        const std::size_t compared = blocks.bytes_in(section);
        if (compared != 0) digests_->costs_at(device).compared(compared, steady_clock::now() - begin);
        const byte_ranges written = byte_ranges::of(std::move(changed));
        for (const byte_range& each : written) trace::record_found(buffer_, each);
        if (!digests_->decide(device, section, compared, written)) return;
        for (const byte_range& each : written) coherence::assume_host_writes(known_, each);
        blocks.take_out(written);
        result.add(blocks);
    });
    may_be_written_.take_out(result);
    return result;
}

byte_ranges host_writes::digested(const region& part, coherence::space_id device) noexcept {
    byte_ranges result;
    if (!compares_by_digest() || !part.is_range()) return result;
    if (!digests_ && (may_be_written_.empty() || !tracking::kernel::is_by_digest())) return result;
    try {
        if (!digests_) digests_ = std::make_unique<tracking::digests>(host_);
        byte_ranges wanted = may_be_written_.clipped_to(part.hull());
        wanted.add(known_.where(part.hull(), [](const knowledge& k) { return k.digested; }));  // others were sent these
        for (const byte_range& each : wanted) {
            tracking::sections::for_each(each, [&](byte_range section) {
                if (digests_->is_wanted(device, section)) result.add(digests_->within(section));
            });
        }
        if (!result.empty()) digests_->make_room();
    } catch (const std::exception&) {
        return {};  // all of it is sent the next time, too
    }
    return result;
}

bool host_writes::copy_with_digests(byte_range blocks, std::byte* to) {
    const auto is_digested = [](const knowledge& k) { return k.digested; };
    return digests_->copy(blocks, to, [&](byte_range block) { return known_.any(block, is_digested); });
}

void host_writes::was_sent(coherence::space_id device, std::size_t bytes, std::size_t pieces,
                           std::chrono::nanoseconds took, bool digested) noexcept {
    if (!digests_ && bytes < tracking::digest_costs::least_sent) return;
    try {
        if (!digests_) digests_ = std::make_unique<tracking::digests>(host_);
        tracking::digest_costs& costs = digests_->costs_at(device);
        digested ? costs.sent_digested(bytes, pieces, took) : costs.sent(bytes, took);
    } catch (const std::exception&) {  // then nothing is compared
    }
}

}  // namespace unibuf::detail
