// verbs/eviction.cpp: how a buffer gives up a copy whose memory others need.
#include "access/copy_making.hpp"
#include "access/letting_go.hpp"
#include "access/passage.hpp"
#include "access/peer_access.hpp"
#include "access/recording.hpp"
#include "backends/spaces.hpp"
#include "trace/counters.hpp"
#include "verbs/content.hpp"

namespace unibuf::detail {
namespace {

obstacle obstacle_to_evict(const guarded& state, space where) noexcept {
    if (state.making_copy) return obstacle::busy;
    const copy* const its_copy = state.copies.find(where.id());
    const bool own = its_copy && its_copy->placed == placement::mirrored && its_copy->lender == coherence::host;
    if (!own || state.copies.used_by_others(where.id())) return obstacle::absent;
    if (where == host) {
        if (state.copies.memories().group(coherence::host) != coherence::set_of(coherence::host)) {
            return obstacle::absent;
        }
        if (!coherence::only_at(state.directory, state.whole(), coherence::host).empty()) return obstacle::absent;
        if (state.peers()) return obstacle::held;
        if (its_copy->memory->is_programs()) return obstacle::given;
    }
    const bool pinned = state.holds.keeps_in_place(where.id());
    if ((pinned && !state.holds.may_be_let_go(where)) || state.any_lost) return obstacle::held;
    if (state.holds.claimed_by_others(this_thread())) return obstacle::busy;
    if (state.holds.any_claim()) return obstacle::leased;
    if (state.holds.of_this_thread_at(where)) return obstacle::leased;
    if (state.holds.any_at(where)) return obstacle::busy;
    return pinned ? obstacle::viewed : obstacle::none;
}

}  // namespace

bool core::look(coherence::space_set at, departures& to) {
    const std::unique_lock guard(mutex_, std::try_to_lock);
    if (!guard || state_.making_copy) return false;  // one that is being made may have its memory already
    // A view that outlived the release may have given pointers out, which ended with it.
    const pool_tag* const pooled = state_.seldom ? state_.seldom->pooled.get() : nullptr;
    if (pooled && pooled->released.load(std::memory_order_relaxed) && !has_other_handles())
        state_.holds.end_all_pointers();
    const std::uint64_t newest = state_.holds.work().newest();
    const bool is_postponed = newest != 0 && state_.seldom && state_.seldom->postponed_at == newest;
    for (const copy& each : state_.copies) {
        if (!coherence::has(at, each.where)) continue;
        const space where = space::from_id(each.where);
        to.push_back({.buffer = id(),
                      .where = where,
                      .bytes = state_.copies.held_at(each.where),
                      .why = obstacle_to_evict(state_, where),
                      .current_elsewhere = coherence::only_at(state_.directory, state_.whole(), each.where).empty(),
                      .used = state_.among_residents->used,
                      .is_postponed = is_postponed});
    }
    return true;
}

bool core::ask_to_let_go(space where) {
    lock locked(*this);
    detail::ask_to_let_go(locked, where, locked->whole());
    if (!locked->holds.keeps_in_place(where.id())) return true;
    locked->use_now();  // other buffers are asked before this one the next time
    return false;
}

std::uint64_t core::evict(space where, const wait_limit& limit) {
    // Somebody waits for the memory already, so leases of the copy are not waited for here. Queued work is, as it ends
    // by itself.
    lock locked(*this);
    const auto may_go_now = [&] { return obstacle_to_evict(*locked, where) == obstacle::none; };
    if (!may_go_now()) return 0;
    access_request back{.part = locked->whole(),
                        .where = host,
                        .what = access::read,
                        .why = cause::eviction,
                        .on = {backends::device_of(where).own_queue()},  // what the copy waits for is known
                        .queue_of = where,
                        .waits = limit,
                        .verb = "to write back",
                        .keeps_to_mode = false,
                        .waits_for_holds = false};
    if (locked->peers() && !locked->peers()->holds()) drop_overruled(*locked);
    try {
        if (locked->any_exposed) find_host_writes(locked, back);
        for (;;) {
            back.part = coherence::only_at(locked->directory, locked->whole(), where.id());
            if (back.part.empty()) break;
            passage(locked, back).bring();
            if (!may_go_now()) return 0;
        }
        wait_for_all_work(locked, locked->room(),
                          {.part = locked->whole(), .where = where, .waits = limit, .verb = "to free"});
    } catch (const error& failure) {
        if (failure.code() == error_code::timeout)
            locked->with_seldom_used().postponed_at = locked->holds.work().newest();
        throw;
    }
    if (!may_go_now()) return 0;  // somebody has begun to hold it
    drop_copy(*locked, where, locked.recorded);
    record(event_kind::eviction, *locked, locked->whole(), where, locked.recorded);
    ++locked->with_seldom_used().evictions;
    trace::count_eviction();
    return locked->copies.bytes();
}

}  // namespace unibuf::detail
