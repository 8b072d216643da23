// verbs/reuse.cpp: what is left of a buffer when it is released.
#include "verbs/reuse.hpp"

#include <fmt/format.h>

#include "access/letting_go.hpp"
#include "access/lock.hpp"
#include "access/poison.hpp"
#include "access/queued_work.hpp"
#include "access/recording.hpp"
#include "verbs/leases.hpp"

namespace unibuf::detail {
namespace {

/// Waits for claims: the buffer may be evicted right now.
void wait_for_claims(lock& locked) {
    locked.wait_until([&] { return !locked->holds.any_claim(); }, wait_limit{}, [] { return ""; });
}

void forget_names(const core& of, const guarded& state) noexcept {
    if (state.seldom->forget_names) state.seldom->forget_names(of);
}

/// Forgets all that is known of the content, which is of so many bytes from now on.
void forget(guarded& state, std::size_t bytes) noexcept {
    seldom_used& seldom = *state.seldom;
    seldom.writes.reset();
    seldom.publications = seldom.fence_waits = seldom.evictions = 0;
    state.holds.forget_undeclared();
    state.holds.work().orphan_all();
    state.transfers = {};
    state.any_exposed = state.any_lost = false;
    state.directory = coherence::directory(bytes);
    for (const copy& each : state.copies) each.memory->forget_content();
    // A release takes no longer than an event: those that are kept do without.
    if (is_tracing()) record(event_kind::discard, state, state.whole(), host);
    poison_all(state);
}

}  // namespace

bool recycle(core& of, std::uint64_t pool) {
    const auto refuse = [&](error_code code, const std::string& why) {
        throw error(code, fmt::format("{} was to be given back to a pool, but {}", of.name(), why));
    };
    lock locked(of);
    ask_all_to_let_go(locked);
    wait_for_claims(locked);
    pool_tag* const known = locked->seldom ? locked->seldom->pooled.get() : nullptr;
    if (!known || known->pool != pool) refuse(error_code::invalid_argument, "it is not of this pool");
    if (known->released.load(std::memory_order_relaxed)) refuse(error_code::invalid_argument, "it was released before");
    if (locked->peers()) refuse(error_code::invalid_argument, "it lies in memory that processes share");
    if (locked->holds.any()) {
        const hold held = locked->holds.excluding(locked->whole(), access::read_write, this_thread());
        refuse(error_code::access_conflict, describe(held) + " is held: end it first");
    }
    const bool alone = !of.has_other_handles();
    if (!alone) locked->holds.end_all_pointers();
    if (alone && locked->any_handed_out) queue_unnamed_work(*locked);
    known->released.store(true, std::memory_order_relaxed);  // nothing fails from here on
    forget_names(of, *locked);
    if (alone) forget(*locked, of.bytes);
    return alone;
}

bool forget_views(core& of) {
    lock locked(of);
    wait_for_claims(locked);
    forget_names(of, *locked);
    if (locked->peers() || of.has_other_handles()) return false;
    try {
        if (locked->any_handed_out) queue_unnamed_work(*locked);
    } catch (const std::bad_alloc&) {
        return false;
    }
    forget(*locked, of.bytes);
    return true;
}

void resize(core& of, std::size_t bytes) {
    lock locked(of);
    wait_for_claims(locked);
    of.bytes = bytes;
    forget(*locked, bytes);
}

}  // namespace unibuf::detail
