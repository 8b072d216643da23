// buffer/verbs.cpp: requests, and what is made of them once they are granted.
#include "buffer/verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/spaces.hpp"
#include "buffer/borrowing.hpp"
#include "buffer/copy_making.hpp"
#include "buffer/hold_waits.hpp"
#include "buffer/leases.hpp"
#include "buffer/letting_go.hpp"
#include "buffer/moves.hpp"
#include "buffer/passage.hpp"
#include "buffer/pointers.hpp"
#include "buffer/poison.hpp"
#include "buffer/recording.hpp"
#include "buffer/standing.hpp"
#include "trace/told.hpp"

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

/// Throws where bytes of `part` are current at `where` alone.
void check_current_elsewhere(const guarded& state, space where, const region& part) {
    const byte_range only = coherence::only_at(state.directory, part, where.id());
    if (only.empty()) return;
    throw error(error_code::access_conflict,
                fmt::format("{}: to discard the copy at {} was asked for, but bytes [{}, {}) are current nowhere else: "
                            "synchronize another space first, or use discard_content{}",
                            state.name(), where.name(), only.begin, only.end, trace::last_writes(state.id, only)));
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
    lock through(of);
    ask_to_let_go(through, host, part);
    wait_for_holds(through, {.part = part, .where = host, .what = access::write, .verb = "to discard the content of"});
    if (through->peers() || through->holds.upload_of(part)) return false;
    check_no_standing(*through, part, "to discard its content");
    if (through->holds.host_is_held_for_writing(part)) {
        const bool views = through->holds.writers_of_host().any_view(part);
        if (views) check_no_pointers(*through, part, "to discard its content");
        return false;
    }
    coherence::drop_content(through->directory, part);
    record(event_kind::discard, *through, part, host);
    return true;
}

/// Throws where the host is the default device, and bytes are newest at a device that the caller may have meant.
void check_host_is_meant(const guarded& state, const region& part) {
    const coherence::space_set allocated = state.copies.allocated();
    const coherence::space_set complete = coherence::complete_at(state.directory, part, allocated);
    if (coherence::has(complete, coherence::host)) return;
    space newest = host;
    coherence::for_each_space(allocated, [&](coherence::space_id each) {
        const space at = space::from_id(each);
        if (!backends::is_host(at) && !coherence::only_at(state.directory, part, each).empty()) newest = at;
    });
    if (newest == host) return;
    throw error(error_code::access_conflict,
                fmt::format("{}: to mark {} dirty at the default device was asked for, which is the host, but the "
                            "newest are at {}: name that space, or make it the default device",
                            state.name(), describe(part), newest.name()));
}

}  // namespace

void bring(core& of, const request& asked) {
    lock through(of);
    passage(through, asked).bring();
}

void mark(core& of, request asked) {
    asked.to = purpose::declare;
    asked.what = access::write;
    asked.verb = "to mark dirty";
    lock through(of);
    if (asked.where == host_as_device) check_host_is_meant(*through, asked.part);
    passage way(through, asked);
    space where = way.where();
    reserve_queued_work(*through, where);
    queue_work_of(*through, where, asked.part, true, asked.on);
    if (const copy* const borrower = through->copies.borrower_among(where.id())) {
        where = space::from_id(borrower->whose_turn());
    }
    const promise in(through->directory, asked.part);
    before_device_writes(*through, asked.part, where);
    show(*through, *through->copies.find(where.id()), asked.part);
    now_written(*through, in, asked.part, where);
    record(event_kind::mark, *through, asked.part, where);
    if (asked.settles_for_all(of.bytes) && through->peers()) through->peers()->settle_for_all();
}

void fill(core& of, const region& part, std::span<const std::byte> pattern, std::optional<space> where) {
    lock through(of);
    passage way(through, {.part = part,
                          .where = where.value_or(host),
                          .what = access::write,
                          .to = where ? purpose::use : purpose::fill,
                          .verb = "to fill"});
    way.bring();
    way.fill(pattern);
    record(event_kind::fill, *through, part, way.where());
}

void put(core& of, const region& part, const std::byte* from) {
    const request asked{
        .part = part, .where = host, .what = access::write, .why = cause::read_write, .verb = "to copy to"};
    lock through(of);
    const auto write = [&](const copy& there) {
        now_written(*through, promise(through->directory, part), part, host);
        scatter(part, there.memory->host_address(), from);
    };
    const copy* const there = through->copies.find(coherence::host);
    if (there && is_settled(*through)) {
        check_allowed(of, asked);
        record_access(through, asked);
        return write(*there);
    }
    passage way(through, asked);
    way.bring();
    write(*way.at());
}

void discard(core& of, space where, const region& part) {
    const request asked{
        .part = part, .where = where, .what = access::write, .to = purpose::drop, .verb = "to discard the copy of"};
    lock through(of);
    ask_to_let_go(through, where, through->whole());
    passage way(through, asked);
    const copy* const there = way.at();
    const bool all = part == region(through->whole());
    const bool lends = all && lends_to_host_alone(*through, where);
    if (!there && !lends) return;
    const byte_ranges contested =
        through->directory.where(part, [](const coherence::knowledge& k) { return k.contested; });
    const bool settles = !contested.empty();
    if (settles && where == host && through->any_exposed) {
        // What the program has stored there is in the memory still, and is not to be found again: as after a mark of
        // the device, which has the newest content now.
        for (const byte_range& each : contested) {
            through->writes()->forget(each);
            through->writes()->before_device_writes(each);
        }
    }
    coherence::settle_without(through->directory, part, where.id());
    if (where == host && through->any_exposed) {
        for (const byte_range& each : contested) through->writes()->device_has_written(each);
    }
    if (settles && (where == host || through->holds.pins(where.id()))) return;  // the copy stays where it is
    if (where == host) check_no_pointers(*through, part, "to discard the copy at host");
    if (where == host && through->peers()) {
        throw error(error_code::access_conflict,
                    of.name() + ": to discard the copy at host was asked for, but it is memory that processes share");
    }
    const auto check = [&] {
        check_not_held(*through, where, fmt::format("to discard the copy at {}", where.name()));
        check_current_elsewhere(*through, where, part);
        if (lends) check_may_move(*through, where);
    };
    check_not_held(*through, where, fmt::format("to discard the copy at {}", where.name()));
    if (all && there && there->borrows() && there->has_turn) give_memory_back(through, asked, *there);
    check();
    if (lends) {
        way.keep_others_off();
        return end_lending(through, asked, check);
    }
    if (through->any_out) queue_unnamed_work(*through);
    wait_for_all_work(through, all ? through->room() : part, asked);
    check();  // the lock was let go of
    if (all) return drop_copy(*through, where);
    coherence::drop(through->directory, part, where.id());
}

void drop_copy(guarded& state, space where) {
    coherence::drop(state.directory, state.whole(), where.id());
    if (where == host && state.seldom) {
        state.seldom->writes.reset();
        state.any_exposed = false;
    }
    state.holds.end_handles(where.id(), state.whole());
    record_release(state, *state.copies.find(where.id()));
    state.copies.free(where.id());
}

void discard_content(core& of, const region& part) {
    if (drop_content(of, part)) return;
    // Pointers show the zeros, and what is written through them is found. Neither other processes nor graphs know that
    // nobody has written the bytes.
    const byte_lease zeros = take_lease(of, {.part = part,
                                             .where = host,
                                             .what = access::write,
                                             .verb = "to discard the content of",
                                             .keeps_to_mode = false});
    part.for_each_run(
        [&](byte_range run) { std::memset(zeros.address() + (run.begin - part.begin()), 0, run.size()); });
}

}  // namespace unibuf::detail
