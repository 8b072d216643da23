// buffer/reuse.cpp: what is left of a buffer when it is released.
#include "buffer/reuse.hpp"

#include <fmt/format.h>

#include "buffer/leases.hpp"
#include "buffer/letting_go.hpp"
#include "buffer/lock.hpp"
#include "buffer/poison.hpp"
#include "buffer/recording.hpp"

namespace unibuf::detail {
namespace {

/// Waits for claims: the buffer may be evicted right now.
void wait_for_claims(lock& through) {
    through.wait_until([&] { return !through->holds.any_claim(); }, wait_limit{}, [] { return ""; });
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
    lock through(of);
    ask_all_to_let_go(through);
    wait_for_claims(through);
    pool_tag* const known = through->seldom ? through->seldom->pooled.get() : nullptr;
    if (!known || known->pool != pool) refuse(error_code::invalid_argument, "it is not of this pool");
    if (known->released.load(std::memory_order_relaxed)) refuse(error_code::invalid_argument, "it was released before");
    if (through->peers()) refuse(error_code::invalid_argument, "it lies in memory that processes share");
    if (through->holds.any()) {
        const hold held = through->holds.excluding(through->whole(), access::read_write, this_thread());
        refuse(error_code::access_conflict, describe(held) + " is held: end it first");
    }
    const bool alone = !of.has_other_handles();
    if (!alone) through->holds.end_all_pointers();
    if (alone && through->any_out) queue_unnamed_work(*through);
    known->released.store(true, std::memory_order_relaxed);  // nothing fails from here on
    forget_names(of, *through);
    if (alone) forget(*through, of.bytes);
    return alone;
}

bool forget_views(core& of) {
    lock through(of);
    wait_for_claims(through);
    forget_names(of, *through);
    if (through->peers() || of.has_other_handles()) return false;
    try {
        if (through->any_out) queue_unnamed_work(*through);
    } catch (const std::bad_alloc&) {
        return false;
    }
    forget(*through, of.bytes);
    return true;
}

void resize(core& of, std::size_t bytes) {
    lock through(of);
    wait_for_claims(through);
    of.bytes = bytes;
    forget(*through, bytes);
}

}  // namespace unibuf::detail
