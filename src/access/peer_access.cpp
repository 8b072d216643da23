// access/peer_access.cpp: what other processes may have written, and what they are told.
#include "access/peer_access.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "access/letting_go.hpp"
#include "access/passage.hpp"
#include "access/queued_work.hpp"
#include "access/recording.hpp"
#include "backends/host/callers_memory.hpp"
#include "coherence/state.hpp"
#include "memory/usage.hpp"
#include "process/peers.hpp"

namespace unibuf::detail {
namespace {

/// Returns whether a device has bytes that the host lacks.
bool has_newest_at_device(buffer_state state) noexcept {
    return state == buffer_state::device_dirty || state == buffer_state::device_only || state == buffer_state::mixed;
}

bool has_newest_at_device(const guarded& state) {
    return has_newest_at_device(coherence::state_of(state.directory, state.copies.allocated()));
}

copy_list used_in_place(const std::shared_ptr<process::shared_memory>& memory) {
    return host_copy_of(std::make_unique<backends::callers_memory>(memory->bytes(), memory, false));
}

/// Puts the copies in the place of the old ones, and makes `with` the buffer's peers. Needs no memory where the buffer
/// has its seldom used parts.
void install(guarded& state, copy_list made, std::unique_ptr<process::peers> with) {
    state.with_seldom_used().peers = std::move(with);
    add_memory(host, state.copies.bytes());
    record_allocations(state, made);
    state.copies.add(std::move(made));
    now_written(state, promise(state.directory, state.whole()), state.whole(), host);
    record(event_kind::mark, state, state.whole(), host);
}

void check_not_held(guarded& state) {
    holds& all = state.holds;
    bool held = all.any_standing();
    bool pointed = false;
    for (const copy& each : state.copies) {
        held |= all.keeps_in_place(each.where);
        pointed |= all.handle_is_out(each.where);
    }
    if (!held) return;
    pointed |= all.writers_of_host().any_pointer();
    const char* const by = all.any_standing() ? "a standing hold uses it: end that one first"
                           : state.has_programs_memory()
                               ? "it is memory of the program's own: discard the copy at host, which gives that back"
                           : pointed ? "pointers or handles are out: call release_host and release_device first"
                                     : "arrays or views of it are held, also what is left of a block: drop them";
    throw error(error_code::access_conflict,
                fmt::format("{}: to share it was asked for, which gives it other memory, but {}", state.name(), by));
}

}  // namespace

void attach_memory(core& of, const std::shared_ptr<process::shared_memory>& memory) {
    auto with = std::make_unique<process::peers>(memory);
    copy_list made = used_in_place(memory);
    lock locked(of);
    locked->with_seldom_used();
    with->note_another();
    install(*locked, std::move(made), std::move(with));
}

std::shared_ptr<process::shared_memory> share_memory(core& of, std::string_view description) {
    if (auto known = of.shared_memory()) return known;
    auto memory = process::shared_memory::create(of.bytes, of.room(), description);
    auto with = std::make_unique<process::peers>(memory);
    copy_list made = used_in_place(memory);
    const access_request request{.part = byte_range{0, of.bytes},
                                 .where = host,
                                 .what = access::read_write,
                                 .why = cause::host_pointer,
                                 .verb = "to share",
                                 .keeps_to_mode = false};
    lock locked(of);
    ask_all_to_let_go(locked);
    passage way(locked, request);
    if (locked->peers()) return locked->peers()->memory();  // another thread was first
    check_not_held(*locked);
    way.keep_others_off();
    locked.wait_until([&] { return !locked->making_copy; }, wait_limit{}, [] { return ""; });
    way.bring();
    locked->with_seldom_used();  // nothing may fail once the old copies have gone
    const std::byte* const from = way.at()->memory->host_address();
    if (of.bytes != 0) {
        const lock::released unlocked(locked);
        std::memcpy(memory->bytes().data(), from, of.bytes);
    }
    if (locked->any_handed_out) queue_unnamed_work(*locked);
    wait_for_all_work(locked, locked->room(), request);
    check_not_held(*locked);
    if (locked->seldom) locked->seldom->writes.reset();
    locked->any_exposed = locked->any_lost = false;
    locked->directory =
        coherence::directory(of.bytes);  // has one range, so what `way` has promised of the old one ends
    locked->copies.free_all();
    install(*locked, std::move(made), std::move(with));
    return memory;
}

void follow_peers(guarded& state, const access_request& request) {
    process::peers& with = *state.peers();
    const bool held = with.holds();
    const bool makes_device_newest = request.where != host && request.what != access::read;
    makes_device_newest ? with.claim() : with.check();
    if (held) return;  // the others were refused since this process became the holder
    drop_overruled(state);
    if (request.where == host || !with.were_ever_others()) return;
    // Where the host was current, other processes may have written. Bytes that somebody in this process has leased stay
    // as they are until the lease ends.
    const auto is_leased = [&](const region& part) {
        return state.holds.excluding(part, access::write, this_thread()).thread != 0;
    };
    region part = makes_device_newest ? region(state.whole()) : request.part;
    if (is_leased(part)) part = request.part;
    if (is_leased(part)) return;
    byte_ranges overtaken = state.directory.where(part, &coherence::knowledge::at_host);
    if (request.what == access::write) overtaken.take_out(runs_of(request.part));  // these are about to be written
    for (const byte_range& each : overtaken) {
        trace::record_assumed_of_others(state.id, each);
        now_written(state, promise(state.directory, each), each, host);
    }
}

void drop_overruled(guarded& state) {
    if (!has_newest_at_device(state)) return;
    const auto not_at_host = [](const coherence::knowledge& k) { return !k.at_host(); };
    for (const byte_range& each : state.directory.where(state.whole(), not_at_host)) {
        now_written(state, promise(state.directory, each), each, host);
    }
}

void tell_peers(guarded& state) noexcept {
    process::peers& with = *state.peers();
    if (!with.holds() || has_newest_at_device(state)) return;
    if (state.holds.excluding(state.whole(), access::read, 0).thread == 0) with.settle();  // nobody is writing
}

buffer_state state_among_peers(guarded& state) {
    const process::peers& with = *state.peers();
    if (with.another_holds()) return buffer_state::device_dirty;
    const buffer_state found =
        coherence::state_of(state.any_exposed ? state.writes()->look() : state.directory, state.copies.allocated());
    return has_newest_at_device(found) && !with.holds() ? buffer_state::host_dirty : found;
}

void leave_peers(core& of) noexcept {
    lock locked(of);
    process::peers& with = *locked->peers();
    if (!with.were_ever_others() || !with.holds()) return;
    try {
        passage(locked, {.part = locked->whole(),
                         .where = host,
                         .what = access::read,
                         .why = cause::host_pointer,
                         .waits = {},
                         .keeps_to_mode = false,
                         .is_guarded = false})
            .bring();
    } catch (...) {
        with.lose();
    }
}

}  // namespace unibuf::detail
