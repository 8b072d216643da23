// access/poison.cpp: finds the stale bytes of each copy.
#include "access/poison.hpp"

#include <algorithm>
#include <new>
#include <optional>

#include "backends/spaces.hpp"

namespace unibuf::detail {

namespace {

/// Poisons one copy, whose memory the spaces `sharers` see.
void poison_stale_of(guarded& state, copy& each, coherence::space_set sharers, const region& part) {
    const work_list& queued = state.holds.work();
    const bool is_watched = each.where == coherence::host && state.any_exposed;
    byte_ranges guarded_pieces;
    const auto poison = [&](byte_range piece) {
        each.untouched = false;
        each.memory->poison_stale(piece.begin, piece.size());
    };
    state.directory.for_each_run(part, [&](byte_range piece, const coherence::knowledge& k) {
        if (k.what == coherence::content::unwritten || (k.current & sharers) != 0) return;
        const bool in_use = queued.any(piece, [&](const coherence::queued_work& queued_there, const work&) {
            // A transfer may still read it, or a device that has the same memory write it.
            return coherence::has(sharers, queued_there.where);
        });
        if (in_use) return;
        if (is_watched) {
            guarded_pieces.add(piece);
        } else {
            poison(piece);
        }
    });
    if (guarded_pieces.empty()) return;
    const host_writes::own_write guard(*state.writes(), guarded_pieces);
    for (const byte_range& piece : guarded_pieces) poison(piece);
}

}  // namespace

void poison_stale(guarded& state, const region& part) noexcept {
    if (!state.copies.any_poisons()) return;
    const coherence::sharing memories = state.copies.memories();
    for (copy& each : state.copies) {
        if (each.placed != placement::mirrored || !each.memory->host_address()) continue;
        if (each.where == coherence::host && state.peers()) continue;  // others may have it as it is
        try {
            poison_stale_of(state, each, memories.group(each.where), part);
        } catch (const std::exception&) {  // what is stale shows less
        }
    }
}

void poison_new_host(guarded& state) noexcept {
    constexpr std::size_t most = std::size_t{256} << 10;  // more would fault in pages that nobody may ever use
    copy& at_host = *state.copies.find(coherence::host);
    const bool may_poison = state.copies.any_poisons() && at_host.placed == placement::mirrored && !state.peers();
    if (!may_poison || state.whole().size() > most || !at_host.memory->host_address()) return;
    try {
        poison_stale_of(state, at_host, state.copies.memories().group(coherence::host), state.whole());
    } catch (const std::exception&) {  // what is stale shows less
    }
}

void poison_all(guarded& state) noexcept {
    if (!state.copies.any_poisons()) return;
    for (copy& each : state.copies) {
        if (!backends::device_of(space::from_id(each.where)).about().poisons_stale) continue;
        try {
            each.memory->poison_stale(0, state.whole().size());
        } catch (const std::exception&) {  // what is stale shows less
        }
    }
}

void poison_unseen(guarded& state, const copy& at, const region& part) {
    if (!state.copies.any_poisons()) return;
    part.for_each_run([&](byte_range run) { at.memory->poison_unseen(run.begin, run.size()); });
}

}  // namespace unibuf::detail
