// buffer/core_eviction.cpp: how a buffer gives up a copy whose memory others need.
#include "backends/spaces.hpp"
#include "buffer/core_access.hpp"
#include "trace/counters.hpp"

namespace unibuf::detail {

obstacle core::obstacle_to_evict(space where) const noexcept {
    if (making_copy_) return obstacle::busy;
    const copy* const there = copies_.find(where.id());
    const bool own = there && there->placed == placement::mirrored && there->lender == coherence::host;
    if (!own || where == backends::host_as_device || copies_.used_by_others(where.id())) return obstacle::absent;
    if (where == host) {
        if (copies_.memories().group(coherence::host) != coherence::set_of(coherence::host)) return obstacle::absent;
        if (!coherence::only_at(directory_, directory_.whole(), coherence::host).empty()) return obstacle::absent;
        if (writes() && writes()->holders().any()) return obstacle::held;
        if (solo_lease().thread != 0) return solo_lease().thread == this_thread() ? obstacle::held : obstacle::busy;
    }
    if (there->is_held() || any_lost_) return obstacle::held;
    if (leases_.any_claim()) return obstacle::busy;
    return leases_.of_this_thread_at(where) ? obstacle::held : leases_.any_at(where) ? obstacle::busy : obstacle::none;
}

core::departure core::may_go(space where) noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return {.why = obstacle::busy};
    const bool elsewhere = coherence::only_at(directory_, directory_.whole(), where.id()).empty();
    return {.why = obstacle_to_evict(where), .current_elsewhere = elsewhere, .age = ticks_now() - used_};
}

std::uint64_t core::evict(space where, std::chrono::steady_clock::time_point deadline) {
    // Whoever needs the memory has others wait for it: their leases are not waited for here. Queued work is, which ends
    // by itself.
    locked lock(*this);
    demand asked{
        .range = directory_.whole(), .where = host, .what = access::read, .why = cause::eviction, .deadline = deadline};
    demand at_once = asked;
    at_once.deadline = std::chrono::steady_clock::now();
    if (obstacle_to_evict(where) != obstacle::none) return 0;
    if (any_exposed_) find_host_writes(asked);
    for (;;) {
        asked.range = at_once.range = coherence::only_at(directory_, directory_.whole(), where.id());
        if (asked.range.empty()) break;
        take_turn(lock, at_once);
        check_not_contested(asked);
        steps(*this, lock, asked).run();
        if (obstacle_to_evict(where) != obstacle::none) return 0;
    }
    asked.range = directory_.whole();
    steps(*this, lock, asked).wait_for_all_work();
    drop_copy(where);
    ++with_rare().evictions;
    trace::count_eviction();
    return copies_.bytes();
}

}  // namespace unibuf::detail
