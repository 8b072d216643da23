// tracking/findings.hpp: what looks at the host's copy have found, and the directory has not been told.
#pragma once

#include <cstddef>
#include <vector>

#include "coherence/byte_ranges.hpp"
#include "coherence/directory.hpp"
#include "coherence/knowledge.hpp"
#include "tracking/units.hpp"

namespace unibuf::tracking {

/// Keeps what was found until an access of those bytes takes it: what is found in a unit (a page, or a line) may lie
/// outside the range of the access that looks, and others may be moving those bytes right now.
class findings {
public:
    /// Units that a look has found. The look adds them itself, as it takes the kernel's marks: a store whose mark is
    /// taken, and for which there is no memory then, would be lost. keep() makes something of them, and may fail.
    std::vector<byte_range> units;

    /// Keeps the bytes of `units` that are looked at: a device that shares the memory may have written others, and
    /// unibuf itself those that are `arriving`. Of what a device has newer, counts_not(byte_range) returns the bytes
    /// that somebody else may have written.
    template <class CountsNot>
    void keep(const coherence::directory& known, const byte_ranges& arriving, const CountsNot& counts_not) {
        if (units.empty()) return;
        byte_ranges found = byte_ranges::of(units);
        if (!arriving.empty()) found.take_out(arriving);
        byte_ranges looked_at;
        byte_ranges conflicts;
        byte_ranges left_out;
        for (const byte_range& each : found) {
            known.for_each_run(each, [&](byte_range piece, const coherence::knowledge& k) {
                if (!k.watched() && k.host_pointers != coherence::pointers::fresh) return;
                looked_at.add(piece);
                if (!k.stores_conflict()) return;
                conflicts.add(piece);
                left_out.add(counts_not(piece));
            });
        }
        looked_at.take_out(left_out);
        conflicts.take_out(left_out);
        conflicts_.add(conflicts);
        kept_.add(looked_at);
        empty_out(units);
    }

    /// Notes bytes that were sent as they were in the memory, not as they were compared: where the host is still
    /// current in them at the next look, they count as written.
    void doubt(const byte_ranges& sent) { doubted_.add(sent); }

    /// Keeps what is doubted of `range`, after a look at it.
    void keep_doubted(const coherence::directory& known, byte_range range) {
        if (doubted_.empty()) return;
        const auto stays = [](const coherence::knowledge& k) { return k.watched() && k.at_host(); };
        const byte_ranges looked_at = doubted_.clipped_to(range);
        for (const byte_range& each : looked_at) kept_.add(known.where(each, stays));
        doubted_.take_out(range);
    }

    bool empty() const noexcept { return units.empty() && kept_.empty() && doubted_.empty(); }

    /// Returns what is kept of `range`.
    byte_ranges kept_in(byte_range range) const { return kept_.clipped_to(range); }

    /// Returns the bytes of what is kept of `range` that the program has written: where the host is current, or where a
    /// device had newer content when they were found.
    byte_ranges written(const coherence::directory& known, byte_range range) const {
        byte_ranges result;
        for (const byte_range& each : kept_.clipped_to(range)) {
            known.for_each_run(each, [&](byte_range piece, const coherence::knowledge& k) {
                if (k.exposed() && k.at_host()) result.add(piece);
            });
            result.add(conflicts_.clipped_to(each));
        }
        return result;
    }

    /// Forgets what is kept of `ranges`: the directory has been told, or somebody has said what stands.
    void take_out(const byte_ranges& ranges) {
        kept_.take_out(ranges);
        conflicts_.take_out(ranges);
        doubted_.take_out(ranges);
    }

private:
    byte_ranges kept_;
    byte_ranges conflicts_;  // of what is kept, bytes that a device had newer when they were found
    byte_ranges doubted_;    // see doubt()
};

}  // namespace unibuf::tracking
