// buffer/usual_answer.cpp
#include "buffer/usual_answer.hpp"

#include "backends/spaces.hpp"
#include "buffer/passage.hpp"

namespace unibuf::detail {
namespace {

/// Returns whether what comes next on the queue that is named is behind all queued work. Queues are told apart by their
/// handles, which mean something as long as their device keeps them.
bool is_behind(const work_list& queued, const request& asked) noexcept {
    return asked.on && !queued.is_long() && queued.is_before_all_on(asked.on, asked.where.id(), this_thread()) &&
           backends::device_of(asked.where).about().retains_queues;
}

/// Returns whether the bytes, all known alike, are where they are wanted, or go to a copy that is about to be written.
bool needs_no_move(const guarded& state, const coherence::knowledge& known, const request& asked) noexcept {
    if (coherence::has(known.current, asked.where.id())) return true;
    return asked.what == access::write && state.copies.find(asked.where.id());
}

}  // namespace

bool steps_are_behind(const guarded& state, const request& asked) noexcept {
    const copy* const there = state.copies.find(asked.where.id());
    return there && there->placed == placement::mirrored && is_behind(state.holds.work(), asked);
}

bool is_free_and_current(const guarded& state, const request& asked) {
    const coherence::knowledge& known = state.directory.first();
    if (!state.directory.is_one() || !needs_no_move(state, known, asked)) return false;
    if (known.open || known.lost || known.contested || state.any_open) return false;
    if (state.holds.any() || !state.holds.are_plain() || state.peers()) return false;
    if (state.making_copy || (state.waiting != 0 && asked.what == access::read)) return false;
    for (const copy& each : state.copies) {
        if (each.placed == placement::shared && (asked.what != access::read || each.borrows())) return false;
    }
    const work_list& queued = state.holds.work();
    if (!queued.empty() && !is_behind(queued, asked)) {
        const bool only_read = asked.what == access::read && !queued.any_writes();
        if (!only_read || queued.is_long() || asked.where == host) return false;
    }
    backends::check_not_left_behind(asked.where);
    if (!state.any_exposed) return true;
    return asked.what == access::read && asked.where != host && state.writes()->is_unwritten(asked.part.hull());
}

}  // namespace unibuf::detail
