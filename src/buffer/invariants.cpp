// buffer/invariants.cpp: walkers over what a buffer guards; each names the rule that it finds broken.
#include "buffer/invariants.hpp"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "coherence/state.hpp"

namespace unibuf::detail {
namespace {

/// Checks that queued work and holds are about copies that exist.
const char* broken_copies(const guarded& state) {
    const auto has_copy = [&](coherence::space_id where) { return state.copies.find(where) != nullptr; };
    const char* broken = nullptr;
    state.holds.work().any([&](const coherence::queued_work& each, const work&) {
        if (!has_copy(each.where)) broken = "work is queued on a copy that is not there";
        if (!state.room().contains(each.part)) broken = "work is queued on bytes that are not there";
        if (!state.holds.work().find(each.ticket)) broken = "queued work is not found";
        return broken != nullptr;
    });
    return broken;
}

/// Checks that a graph may be launched at any time.
const char* broken_uploads(const guarded& state) {
    const coherence::space_set at_host = state.copies.memories().group(coherence::host);
    const char* broken = nullptr;
    state.directory.for_each(state.whole(), [&](const region& piece, const coherence::knowledge& k) {
        if ((k.current & at_host) != 0 || !state.holds.stay_at_host(piece)) return;
        broken = "bytes that are to be written at the host alone are not current there";
    });
    return broken;
}

const char* broken_flags(const guarded& state) {
    const bool exposed = coherence::any_exposed(state.directory);
    if (exposed && !state.any_exposed) return "ranges are exposed, and nobody looks";
    if ((state.any_exposed || state.holds.host_is_held_for_writing()) && !state.writes()) {
        return "pointers are out, and nobody finds what they write";
    }
    if (!coherence::lost_in(state.directory, state.whole()).empty() && !state.any_lost) {
        return "ranges are lost, and nobody looks";
    }
    return nullptr;
}

/// Checks what standing.hpp says of bytes that are open.
const char* broken_standing(const guarded& state) {
    const char* broken = nullptr;
    state.directory.for_each(state.whole(), [&](const region& piece, const coherence::knowledge& k) {
        if (!k.open) return;
        if (!state.any_open) broken = "bytes are open, and nobody looks";
        for (const copy& each : state.copies) {
            if (!coherence::has(k.current, each.where)) continue;
            if (state.holds.leased_elsewhere(piece, space::from_id(each.where))) {
                broken = "bytes are open that somebody has a lease of elsewhere";
            }
        }
    });
    return broken;
}

const char* broken_rule(const guarded& state) {
    if (const char* const broken = coherence::broken_rule(state.directory, state.copies.allocated())) return broken;
    if (const char* const broken = state.holds.broken_rule()) return broken;
    if (const char* const broken = state.copies.broken_rule()) return broken;
    if (const char* const broken = broken_copies(state)) return broken;
    if (const char* const broken = broken_standing(state)) return broken;
    if (const char* const broken = broken_uploads(state)) return broken;
    if (const host_writes* const writes = state.writes()) {
        if (const char* const broken = writes->broken_rule()) return broken;
    }
    return broken_flags(state);
}

[[noreturn]] void tell(const core& of, const char* broken) {
    std::fprintf(stderr, "unibuf: %s: %s\n", of.name().c_str(), broken);
    std::abort();
}

}  // namespace

void check_invariants(const core& of, const guarded& state) noexcept {
    const char* broken = nullptr;
    try {
        broken = broken_rule(state);
    } catch (const std::bad_alloc&) {  // the next end of a lock looks again
    }
    if (broken) tell(of, broken);
}

void check_gate(const core& of, std::uint32_t said, const gate_bits& may_say) noexcept {
    if (said & ~may_say.ready) tell(of, "the gate said what was not so");
}

}  // namespace unibuf::detail
