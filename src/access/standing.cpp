// access/standing.cpp: bytes go back and forth between standing holds and accesses elsewhere.
#include "access/standing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "access/borrowing.hpp"
#include "access/claim.hpp"
#include "access/hold_waits.hpp"
#include "access/passage.hpp"
#include "access/queued_work.hpp"
#include "access/reopening.hpp"
#include "backends/spaces.hpp"

namespace unibuf::detail {
namespace {

std::string describe(const standing& of) {
    return fmt::format("a standing hold of {} at {}", unibuf::describe(of.part), of.where.name());
}

/// Returns a test for the bytes that the device at `where` may use now as it likes.
auto is_open_at(space where) {
    return [where](const coherence::knowledge& k) { return k.open && coherence::has(k.current, where.id()); };
}

bool is_elsewhere(const standing& of, const access_request& request) {
    return of.where != request.where && of.part.overlaps(request.part);
}

/// Notes what the device was given to do until now as queued work on its bytes of `ranges`.
void queue_work_in(guarded& state, const standing& of, const byte_ranges& ranges) {
    reserve_queued_work(state, of.where);
    state.holds.work().reserve(state.holds.size() + ranges.count());
    for (const byte_range& each : ranges) queue_work_of(state, of.where, each, of.what != access::read, of.on);
}

/// Returns a hold whose holder has to be asked for its bytes before the access, or null.
const standing* to_ask(const guarded& state, const access_request& request) {
    for (const standing& each : state.holds.standing_holds()) {
        const bool is_quiet = each.told_to_pause && each.caller == 0;  // while it is told to go on, it may go on
        if (!each.how->pause || !is_elsewhere(each, request) || is_quiet || each.caller == this_thread()) continue;
        const auto is_open = [&](const region& part) { return state.directory.any(part, is_open_at(each.where)); };
        const bool uses = each.what == access::read ? request.what != access::read
                                                    : std::ranges::any_of(request.part.common_with(each.part), is_open);
        if (uses) return &each;
    }
    return nullptr;
}

/// Asks all holders that are in the way of the access to pause, one after the other.
void ask_holders(lock& locked, const access_request& request, claim& keep) {
    while (const standing* const next = to_ask(*locked, request)) {
        keep.take(request.part, request);
        if (next->caller == 0) {
            call_holder(locked, next->ticket, &standing_options::pause, true);
            continue;
        }
        const auto nobody_calls = [&, ticket = next->ticket] {
            const standing* const same = locked->holds.find_standing(ticket);
            return !same || same->caller == 0;
        };
        locked.wait_until(nobody_calls, request.hold_limit(), [&, of = describe(*next)] {
            return fmt::format(
                "{}: {} was asked for, but the holder of {} was being asked to pause or to go on for "
                "all of the given time",
                locked.of().name(), detail::describe(request), of);
        });
    }
}

/// Takes the hold out. What the device was given to do becomes queued work, and its bytes are open no more; without
/// memory for that they stay open under no hold: an access that finds them asks the device.
void close_standing(guarded& state, std::uint64_t ticket) noexcept {
    const standing& held = *state.holds.find_standing(ticket);
    try {
        const bool reads = held.what == access::read;
        byte_ranges own = reads ? runs_of(held.part) : state.directory.where(held.part, is_open_at(held.where));
        queue_work_in(state, held, own);
        for (const standing& each : state.holds.standing_holds()) {
            if (each.ticket != ticket && each.what != access::read) own.take_out(runs_of(each.part));
        }
        if (!reads) {
            for (const byte_range& each : own) coherence::pause(state.directory, each);
        }
    } catch (const std::exception&) {
    }
    state.holds.remove_standing(ticket);
    if (!state.holds.any_standing()) state.any_open = state.directory.summarize().any_open;
    state.tell_waiting();
}

void check_may_stand(const guarded& state, const access_request& request) {
    const standing* const other = state.holds.standing_against(request.part, request.where, request.what);
    if (!other) return;
    throw error(error_code::access_conflict,
                fmt::format("{}: a standing hold at {} was asked for while there is {}: end that one first",
                            state.name(), request.where.name(), describe(*other)));
}

}  // namespace

unibuf::standing_hold begin_standing(core& of, const access_request& request, const standing_options& how) {
    if (request.where == host) {
        throw error(error_code::invalid_argument, of.name() +
                                                      ": a standing hold at the host was asked for: it is for devices, "
                                                      "as the host's pointers, views and arrays may write "
                                                      "at any time without one");
    }
    if (request.what == access::write) {
        throw error(error_code::invalid_argument,
                    of.name() +
                        ": a standing hold to write was asked for: a device that writes some bytes leaves the "
                        "others as they are, so it has to be read_write");
    }
    lock locked(of);
    check_may_stand(*locked, request);
    do {
        passage(locked, request).bring();
    } while (!stop_borrowing(locked, request));
    check_may_stand(*locked, request);  // the lock was let go of meanwhile
    check_may_leave_host(*locked, request);
    const std::uint64_t ticket = locked->holds.add_standing({.part = request.part,
                                                             .where = request.where,
                                                             .what = request.what,
                                                             .on = request.on,
                                                             .how = std::make_shared<const standing_options>(how)});
    try {
        open_all(locked, ticket);
    } catch (...) {
        close_standing(*locked, ticket);  // some of its bytes may be open
        throw;
    }
    of.add_handle();
    locked->hand_out(request.where);
    return {of,
            ticket,
            {.where = request.where,
             .handle = locked->copies.find(request.where.id())->handle(),
             .offset = request.part.begin(),
             .bytes = request.part.hull().size()}};
}

void resume_standing(core& of, std::uint64_t ticket) {
    const core_handle kept = another_handle(of);  // the hold may end meanwhile
    lock locked(of);
    standing& held = *locked->holds.find_standing(ticket);
    const region all = held.part;
    const space where = held.where;
    const std::optional<error> failed_before = std::exchange(held.broken, {});
    held.paused = {};
    held.pointed = {};
    held.maybe_written = all.hull();
    held.began_at = locked->holds.next_ticket();
    held.resume_again = false;
    try {
        open_all(locked, ticket);
    } catch (...) {
        if (standing* const failed = locked->holds.find_standing(ticket)) {
            failed->resume_again = true;
            failed->paused.add(to_give_back(*locked, *failed, all, failed->maybe_written));
        }
        throw;
    }
    check_not_contested(*locked, {.part = all, .where = where, .what = access::read_write, .verb = "to resume"});
    if (!failed_before) return;
    throw error(failed_before->code(),
                fmt::format("{}: the device has all of its standing hold of {} now, but some could not be given "
                            "back before: {}",
                            of.name(), unibuf::describe(all), failed_before->message()));
}

void pause_standing(core& of, std::uint64_t ticket) {
    const core_handle kept = another_handle(of);  // the hold may end meanwhile
    lock locked(of);
    const region part = locked->holds.find_standing(ticket)->part;
    const access_request all{.part = part, .where = host, .what = access::read};
    claim keep(*locked);
    wait_for_holds(locked, all);
    pause_elsewhere(locked, {.part = part, .where = host, .what = access::read_write}, keep);
    keep.take(part, all);
    wait_for_all_work(locked, part, all);
    if (standing* const paused = locked->holds.find_standing(ticket)) paused->paused = runs_of(part);
}

void end_standing(core& of, std::uint64_t ticket) noexcept {
    std::shared_ptr<const standing_options> how;  // is destroyed without the lock, as it keeps what is the holder's
    {
        lock locked(of);
        how = locked->holds.find_standing(ticket)->how;
        close_standing(*locked, ticket);
    }
    of.drop_handle();
}

bool has_holders_to_ask(const guarded& state, const access_request& request) {
    return to_ask(state, request) != nullptr;
}

void pause_elsewhere(lock& locked, const access_request& request, claim& keep) {
    ask_holders(locked, request, keep);
    for (standing& each : locked->holds.standing_holds()) {
        if (!is_elsewhere(each, request)) continue;
        each.resume_again = false;
        for (const region& part : request.part.common_with(each.part)) {
            if (each.how->opens == reopening::told) each.paused.add(runs_of(part));
            if (each.what != access::read) {
                queue_work_in(*locked, each, locked->directory.where(part, is_open_at(each.where)));
            } else if (request.what != access::read) {
                queue_work_in(*locked, each, runs_of(part));
            }
        }
    }
    for (const standing& each : locked->holds.standing_holds()) {
        if (!is_elsewhere(each, request) || each.what == access::read) continue;
        for (const region& part : request.part.common_with(each.part)) {
            for (const byte_range& open : locked->directory.where(part, is_open_at(each.where))) {
                coherence::pause(locked->directory, open);
            }
        }
    }
    // Bytes may be open under no hold any more: their hold ended when there was no memory to say so.
    for (const copy& each : locked->copies) {
        if (each.where == request.where.id()) continue;
        const space where = space::from_id(each.where);
        for (const byte_range& left : locked->directory.where(request.part, is_open_at(where))) {
            reserve_queued_work(*locked, where);
            queue_work_of(*locked, where, left, true, {});
            coherence::pause(locked->directory, left);
        }
    }
}

void pause_for_pointer(guarded& state, space where, const region& part) {
    for (standing& each : state.holds.standing_holds()) {
        if (each.where != where) each.pointed.at(where.id()).add_pointer(runs_of(part, each.part));
    }
}

void end_pause_of_pointers(guarded& state, space where, const region& part) {
    for (standing& each : state.holds.standing_holds()) {
        held_ranges* const pointed = each.pointed.find(where.id());
        if (!pointed) continue;
        pointed->end_pointers(runs_of(part));
        each.maybe_written = each.maybe_written.joined_with(part.hull().clipped_to(each.part.hull()));
    }
}

void give_back_bytes_of(guarded& state, space where, const held_view& ended) noexcept {
    for (standing& each : state.holds.standing_holds()) {
        if (each.where == where || !keeps_from(ended, each)) continue;
        each.maybe_written = each.maybe_written.joined_with(ended.range().clipped_to(each.part.hull()));
    }
}

void check_not_broken(guarded& state, const access_request& request) {
    for (standing& each : state.holds.standing_holds()) {
        if (!is_elsewhere(each, request)) continue;
        const std::optional<error> failed = std::exchange(each.broken, {});
        if (!failed) continue;
        throw error(failed->code(),
                    fmt::format("{}: bytes of {} could not be given back to it, and are newest elsewhere until it is "
                                "resumed: {}",
                                state.name(), describe(each), failed->message()));
    }
}

void check_no_standing(const guarded& state, const region& part, const char* verb) {
    for (const standing& each : state.holds.standing_holds()) {
        if (!each.part.overlaps(part)) continue;
        throw error(error_code::access_conflict,
                    fmt::format("{}: {} was asked for, but there is {}: end that one first", state.name(), verb,
                                describe(each)));
    }
}

}  // namespace unibuf::detail

namespace unibuf {

void standing_hold::resume() {
    if (gate_) detail::resume_standing(static_cast<detail::core&>(*gate_), ticket_);
}

void standing_hold::pause() {
    if (gate_) detail::pause_standing(static_cast<detail::core&>(*gate_), ticket_);
}

void standing_hold::release() noexcept {
    if (gate_) detail::end_standing(static_cast<detail::core&>(*std::exchange(gate_, nullptr)), ticket_);
}

}  // namespace unibuf
