// access/usual_answer.cpp: tells at a glance whether an access has nothing to do, and nothing to wait for.
#include "access/usual_answer.hpp"

#include "access/passage.hpp"
#include "access/poison.hpp"
#include "backends/spaces.hpp"

namespace unibuf::detail {
namespace {

/// Returns whether what comes next on the queue that is named is behind all queued work. Queues are told apart by their
/// handles, which mean something as long as their device keeps them.
bool is_behind(const work_list& queued, const access_request& request) noexcept {
    return request.on && !queued.is_long() && queued.is_before_all_on(request.on, request.where.id(), this_thread()) &&
           backends::device_of(request.where).about().retains_queues;
}

/// Returns whether the bytes, all known alike, are where they are wanted, or go to a copy that is about to be written.
bool needs_no_move(const guarded& state, const coherence::knowledge& known, const access_request& request) noexcept {
    if (coherence::has(known.current, request.where.id())) return true;
    return request.what == access::write && state.copies.find(request.where.id());
}

}  // namespace

bool steps_are_behind(const guarded& state, const access_request& request) noexcept {
    const copy* const its_copy = state.copies.find(request.where.id());
    return its_copy && its_copy->placed == placement::mirrored && is_behind(state.holds.work(), request);
}

bool is_free_and_current(const guarded& state, const access_request& request) {
    const coherence::knowledge& known = state.directory.first();
    if (!state.directory.is_one() || !needs_no_move(state, known, request)) return false;
    if (known.open || known.lost || known.contested || state.any_open) return false;
    if (state.holds.any() || !state.holds.are_plain() || state.peers()) return false;
    if (state.making_copy || (state.waiting != 0 && request.what == access::read)) return false;
    for (const copy& each : state.copies) {
        if (each.placed == placement::shared && (request.what != access::read || each.borrows())) return false;
    }
    const work_list& queued = state.holds.work();
    if (!queued.empty() && !is_behind(queued, request)) {
        const bool only_read = request.what == access::read && !queued.any_writes();
        if (!only_read || queued.is_long() || request.where == host) return false;
    }
    backends::check_usable(request.where);
    if (!state.any_exposed) return true;
    // Who holds a view to write the host's copy is asked before an access elsewhere.
    if (state.holds.any_holder()) return false;
    return request.what == access::read && request.where != host && state.writes()->is_unwritten(request.part.hull());
}

void begin_to_use(guarded& state, const access_request& request) {
    if (coherence::has(state.directory.first().current, request.where.id())) return;
    poison_unseen(state, *state.copies.find(request.where.id()), request.part);
}

}  // namespace unibuf::detail
