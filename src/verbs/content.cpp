// verbs/content.cpp: brings, marks, fills, puts and discards content.
#include "verbs/content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "access/borrowing.hpp"
#include "access/copy_making.hpp"
#include "access/hold_waits.hpp"
#include "access/letting_go.hpp"
#include "access/passage.hpp"
#include "access/poison.hpp"
#include "access/queued_work.hpp"
#include "access/recording.hpp"
#include "access/standing.hpp"
#include "backends/spaces.hpp"
#include "memory/moves.hpp"
#include "trace/told.hpp"
#include "verbs/leases.hpp"
#include "verbs/pointers.hpp"

namespace unibuf::detail {
namespace {

/// Returns whether nobody uses the buffer, nothing is queued or out, no two of its copies share memory, and no other
/// process has it: a write at the host changes nothing but the directory then.
bool is_settled(const guarded& state) {
    const auto shared = [](const copy& each) { return each.placed == placement::shared; };
    return !state.peers() && !state.holds.any_standing() && !state.holds.any() && state.holds.work().empty() &&
           !state.any_exposed && !state.any_lost && std::ranges::none_of(state.copies, shared);
}

/// Throws where the program has the copy at `where`, which is to go.
void check_not_held(const guarded& state, space where, const std::string& verb) {
    const bool view = state.holds.view_is_out(where.id());
    if (!view && !state.holds.handle_is_out(where.id())) return;
    const char* const who = state.holds.stands_at(where) ? "a standing hold uses it: end that one first"
                            : view                       ? "arrays or views of it are held: drop them"
                            : where == host              ? "pointers to it are out: call release_host first"
                                                         : "handles of it are out: call release_device first";
    throw error(error_code::access_conflict, fmt::format("{}: {} was asked for, but {}", state.name(), verb, who));
}

/// Throws where `is_only_there` holds for bytes of `part`.
template <class Is>
void check_current_elsewhere(const guarded& state, space where, const region& part, const Is& is_only_there) {
    const byte_range only = state.directory.first_where(part, is_only_there);
    if (only.empty()) return;
    throw error(error_code::access_conflict,
                fmt::format("{}: to discard the copy at {} was asked for, but bytes [{}, {}) are current nowhere else: "
                            "synchronize another space first, or use discard_content{}",
                            state.name(), where.name(), only.begin, only.end, trace::last_writes(state.id, only)));
}

/// Throws where bytes of `part` are current at `where` alone, but for contested ones, of which the host has others.
void check_current_elsewhere(const guarded& state, space where, const region& part) {
    const auto is_only_there = [&](const coherence::knowledge& k) {
        const bool settles = where != host && coherence::is_contested_at(k, where.id());
        return coherence::is_only_at(k, where.id()) && !settles;
    };
    check_current_elsewhere(state, where, part, is_only_there);
}

/// Returns whether bytes that the program has written are in its own memory alone.
bool is_only_in_programs_memory(const coherence::knowledge& k) {
    const coherence::space_set its = coherence::set_of(coherence::host) | coherence::set_of(host_as_device.id());
    return k.what != coherence::content::unwritten && (k.current & ~its) == 0;
}

/// Returns a device that has a copy in memory of its own, one with all content where there is such; host where none
/// has.
space keeper_of(const guarded& state) {
    coherence::space_set complete = state.copies.allocated();
    state.directory.for_each_kind(state.whole(), [&](const coherence::knowledge& k) { complete &= k.current; });
    space result = host;
    for (const copy& each : state.copies) {
        if (each.on_host() || each.placed == placement::shared) continue;
        if (result == host || coherence::has(complete, each.where)) result = space::from_id(each.where);
    }
    return result;
}

/// Makes `device` current in all, before the program's own memory goes back to it.
void bring_to(lock& locked, space device, const wait_limit& waits) {
    passage(locked, {.part = locked->whole(),
                     .where = device,
                     .what = access::read,
                     .why = cause::sync,
                     .waits = waits,
                     .verb = "to send",
                     .keeps_to_mode = false})
        .bring();
}

/// Returns whether the host's copy lies in memory that `where` has lent, and that no other device uses.
bool lends_to_host_alone(const guarded& state, space where) {
    const auto uses = [&](const copy& each) {
        return !each.on_host() && each.where != where.id() && each.placed == placement::shared && !each.borrows();
    };
    return state.copies.lends_to_host(where.id()) && std::ranges::none_of(state.copies, uses);
}

/// Throws where the program has the host's copy, which lies in memory that `where` has lent, and would move.
void check_may_move(guarded& state, space where) {
    const std::string verb =
        fmt::format("to discard the copy at {}, in whose memory the host's copy lies,", where.name());
    check_no_pointers(state, state.whole(), verb.c_str());
    for (const copy& each : state.copies) {
        if (each.on_host()) check_not_held(state, space::from_id(each.where), verb);
    }
}

/// Notes that nobody has written `part` any more. Where pointers to bytes of it are out, other processes have the
/// buffer, or graphs upload bytes of it, does nothing, and returns false.
bool drop_content(core& of, const region& part) {
    const access_request request{
        .part = part, .where = host, .what = access::write, .verb = "to discard the content of"};
    check_content_may_change(of, request);
    lock locked(of);
    ask_to_let_go(locked, host, part);
    wait_for_holds(locked, request);
    check_no_standing(*locked, part, "to discard its content");
    if (locked->peers() || locked->holds.upload_of(part)) return false;
    if (locked->holds.host_is_held_for_writing(part)) {
        const bool views = locked->holds.writers_of_host().any_view(part);
        if (views) check_no_pointers(*locked, part, "to discard its content");
        return false;
    }
    coherence::drop_content(locked->directory, part);
    record(event_kind::discard, *locked, part, host);
    return true;
}

/// Makes the other version stand where bytes of `part` are contested between the host and `where`.
void settle_without(guarded& state, space where, const region& part) {
    const auto is_contested = [&](const coherence::knowledge& k) { return coherence::is_contested_at(k, where.id()); };
    const byte_ranges contested = state.directory.where(part, is_contested);
    const bool in_host_memory = where == host && state.any_exposed;
    if (in_host_memory) {
        // The program's stores are in the host's memory still. They are forgotten, so that no later look finds them, as
        // a mark of the device forgets them.
        for (const byte_range& each : contested) {
            state.writes()->forget(each);
            state.writes()->before_device_writes(each);
        }
    }
    coherence::settle_without(state.directory, part, where.id());
    if (!in_host_memory) return;
    for (const byte_range& each : contested) state.writes()->device_has_written(each);
}

}  // namespace

void bring(core& of, const access_request& request) {
    lock locked(of);
    passage(locked, request).bring();
}

void mark(core& of, access_request request) {
    request.aim = purpose::declare;
    request.what = access::write;
    request.verb = "to mark dirty";
    lock locked(of);
    passage way(locked, request);
    space where = way.where();
    if (of.options().access == host_access::constant && !way.at()->memory->is_programs()) {
        throw error(error_code::invalid_argument,
                    of.name() +
                        ": to mark the host dirty was asked for, but its content is constant, and the memory "
                        "that was given for reading has gone back to the program: nobody else writes it");
    }
    reserve_queued_work(*locked, where);
    queue_work_of(*locked, where, request.part, true, request.on);
    if (const copy* const borrower = locked->copies.borrower_among(where.id())) {
        where = space::from_id(borrower->whose_turn());
    }
    const promise in(locked->directory, request.part);
    before_device_writes(*locked, request.part, where);
    poison_unseen(*locked, *locked->copies.find(where.id()), request.part);
    now_written(*locked, in, request.part, where);
    record(event_kind::mark, *locked, request.part, where);
    if (request.settles_for_all(of.bytes) && locked->peers()) locked->peers()->settle_for_all();
}

void fill(core& of, const region& part, std::span<const std::byte> pattern, std::optional<space> where) {
    lock locked(of);
    passage way(locked, {.part = part,
                         .where = where.value_or(host),
                         .what = access::write,
                         .aim = where ? purpose::use : purpose::fill,
                         .verb = "to fill"});
    way.bring();
    way.fill(pattern);
    record(event_kind::fill, *locked, part, way.where());
}

void put(core& of, const region& part, const std::byte* from) {
    const access_request request{
        .part = part, .where = host, .what = access::write, .why = cause::read_write, .verb = "to copy to"};
    lock locked(of);
    const auto write = [&](const copy& its_copy) {
        now_written(*locked, promise(locked->directory, part), part, host);
        scatter(part, its_copy.memory->host_address(), from);
    };
    const copy* const its_copy = locked->copies.find(coherence::host);
    if (its_copy && is_settled(*locked)) {
        check_allowed(of, request);
        record_access(locked, request);
        return write(*its_copy);
    }
    passage way(locked, request);
    way.bring();
    write(*way.at());
}

namespace {

/// Throws where views of the program's own memory are out, or a device uses it in place.
void check_may_go_back(guarded& state) {
    const char* const verb = "to discard the copy at host";
    if (state.holds.writers_of_host().any_view(state.whole())) check_no_pointers(state, state.whole(), verb);
    for (const copy& each : state.copies) {
        const space where = space::from_id(each.where);
        if (each.on_host()) check_not_held(state, where, verb);
        if (each.on_host() || each.placed != placement::shared) continue;
        throw error(error_code::access_conflict,
                    fmt::format("{}: {} was asked for, but {} uses that memory of the program's own in place: end the "
                                "buffer, or make it with memory_hint::gpu_preferred",
                                state.name(), verb, where.name()));
    }
}

/// Returns whether the program may have written its memory since a device was made current in all.
bool may_have_been_written(lock& locked, const access_request& request) {
    if (!locked->any_exposed) return false;
    if (!locked->writes()->finds_writes()) return true;
    find_host_writes(locked, request);
    return locked->directory.any(locked->whole(), is_only_in_programs_memory);
}

/// Gives the program its own memory back, after a device has become current in all. What the program writes meanwhile
/// goes there, too, unless it never ends.
void give_back_to_program(lock& locked, const access_request& request) {
    constexpr int most_rounds = 3;
    const passage way(locked, request);
    for (int round = 0; locked->has_programs_memory(); ++round) {
        check_may_go_back(*locked);
        settle_without(*locked, host, locked->whole());
        const space keeper = keeper_of(*locked);
        if (keeper != host) bring_to(locked, keeper, request.waits);
        if (locked->any_handed_out) queue_unnamed_work(*locked);
        wait_for_all_work(locked, locked->room(), request);
        if (!locked->has_programs_memory()) return;  // another thread was first
        const bool is_last = keeper == host || round == most_rounds;
        if (!is_last && may_have_been_written(locked, request)) continue;
        check_may_go_back(*locked);
        check_current_elsewhere(*locked, host, locked->whole(), is_only_in_programs_memory);
        end_programs_writes(*locked);
        if (locked->copies.find(host_as_device.id())) drop_copy(*locked, host_as_device, locked.recorded);
        return drop_copy(*locked, host, locked.recorded);
    }
}

}  // namespace

void discard(core& of, space where, const region& part) {
    const access_request request{
        .part = part, .where = where, .what = access::write, .aim = purpose::drop, .verb = "to discard the copy of"};
    lock locked(of);
    ask_to_let_go(locked, where, locked->whole());
    const bool all = part == region(locked->whole());
    if (where == host && all && locked->has_programs_memory()) return give_back_to_program(locked, request);
    passage way(locked, request);
    const copy* const its_copy = way.at();
    const bool lends = all && lends_to_host_alone(*locked, where);
    if (!its_copy && !lends) return;
    const bool settles = locked->directory.any(
        part, [&](const coherence::knowledge& k) { return coherence::is_contested_at(k, where.id()); });
    if (settles && (where == host || locked->holds.keeps_in_place(where.id()))) {
        return settle_without(*locked, where, part);  // the copy stays where it is
    }
    const bool gives_back = all && its_copy && its_copy->borrows() && its_copy->has_turn;
    const auto check_held = [&] {
        if (where == host) check_no_pointers(*locked, part, "to discard the copy at host");
        check_not_held(*locked, where, fmt::format("to discard the copy at {}", where.name()));
    };
    const auto check = [&] {
        check_held();
        check_current_elsewhere(*locked, where, part);
        if (lends) check_may_move(*locked, where);
    };
    check_held();
    if (where == host && locked->peers()) {
        throw error(error_code::access_conflict,
                    of.name() + ": to discard the copy at host was asked for, but it is memory that processes share");
    }
    if (gives_back) give_memory_back(locked, request, *its_copy);
    check();
    if (lends) {
        way.keep_others_off();
        return end_lending(locked, request, check);
    }
    if (locked->any_handed_out) queue_unnamed_work(*locked);
    wait_for_all_work(locked, all ? locked->room() : part, request);
    check();                               // the lock was let go of
    settle_without(*locked, where, part);  // nothing is refused any more
    if (all) return drop_copy(*locked, where, locked.recorded);
    coherence::drop(locked->directory, part, where.id());
}

void discard_content(core& of, const region& part) {
    if (drop_content(of, part)) return;
    // The bytes are written with zeros: pointers that are out, other processes and graphs see these, and know nothing
    // of bytes that nobody has written.
    const byte_lease zeros = take_lease(of, {.part = part,
                                             .where = host,
                                             .what = access::write,
                                             .verb = "to discard the content of",
                                             .keeps_to_mode = false});
    part.for_each_run(
        [&](byte_range run) { std::memset(zeros.address() + (run.begin - part.begin()), 0, run.size()); });
}

}  // namespace unibuf::detail
