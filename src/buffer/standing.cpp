// buffer/standing.cpp: bytes go back and forth between standing holds and accesses elsewhere.
#include "buffer/standing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/spaces.hpp"
#include "buffer/borrowing.hpp"
#include "buffer/claim.hpp"
#include "buffer/hold_waits.hpp"
#include "buffer/leases.hpp"
#include "buffer/passage.hpp"
#include "buffer/reopening.hpp"

namespace unibuf::detail {
namespace {

std::string describe(const standing& of) {
    return fmt::format("a standing hold of {} at {}", unibuf::describe(of.part), of.where.name());
}

/// Returns a test for the bytes that the device at `where` may use now as it likes.
auto is_open_at(space where) {
    return [where](const coherence::knowledge& k) { return k.open && coherence::has(k.current, where.id()); };
}

bool is_elsewhere(const standing& of, const request& asked) {
    return of.where != asked.where && of.part.overlaps(asked.part);
}

/// Notes what the device was given to do until now as queued work on its bytes of `ranges`.
void queue_work_in(guarded& state, const standing& of, const byte_ranges& ranges) {
    reserve_queued_work(state, of.where);
    state.holds.work().reserve(state.holds.size() + ranges.count());
    for (const byte_range& each : ranges) queue_work_of(state, of.where, each, of.what != access::read, of.on);
}

/// Returns a hold whose holder has to be asked for its bytes before the access, or null.
const standing* to_ask(const guarded& state, const request& asked) {
    for (const standing& each : state.holds.standing_holds()) {
        const bool is_quiet = each.told_to_pause && each.caller == 0;  // while it is told to go on, it may go on
        if (!each.how->pause || !is_elsewhere(each, asked) || is_quiet || each.caller == this_thread()) continue;
        const auto is_open = [&](const region& part) { return state.directory.any(part, is_open_at(each.where)); };
        const bool uses = each.what == access::read ? asked.what != access::read
                                                    : std::ranges::any_of(asked.part.common_with(each.part), is_open);
        if (uses) return &each;
    }
    return nullptr;
}

/// Asks all holders that are in the way of the access to pause, one after the other.
void ask_holders(lock& through, const request& asked, claim& keep) {
    while (const standing* const next = to_ask(*through, asked)) {
        keep.take(asked.part, asked);
        if (next->caller == 0) {
            call_holder(through, next->ticket, &standing_options::pause, true);
            continue;
        }
        const auto nobody_calls = [&, ticket = next->ticket] {
            const standing* const same = through->holds.find_standing(ticket);
            return !same || same->caller == 0;
        };
        through.wait_until(nobody_calls, asked.hold_limit(), [&, of = describe(*next)] {
            return fmt::format(
                "{}: {} was asked for, but the holder of {} was being asked to pause or to go on for "
                "all of the given time",
                through.of().name(), detail::describe(asked), of);
        });
    }
}

void check_may_stand(const guarded& state, const request& asked) {
    const standing* const other = state.holds.standing_against(asked.part, asked.where, asked.what);
    if (!other) return;
    throw error(error_code::access_conflict,
                fmt::format("{}: a standing hold at {} was asked for while there is {}: end that one first",
                            state.name(), asked.where.name(), describe(*other)));
}

}  // namespace

unibuf::standing_hold begin_standing(core& of, const request& asked, const standing_options& how) {
    if (asked.where == host) {
        throw error(error_code::invalid_argument, of.name() +
                                                      ": a standing hold at the host was asked for: it is for devices, "
                                                      "as the host's pointers, views and arrays may write "
                                                      "at any time without one");
    }
    if (asked.what == access::write) {
        throw error(error_code::invalid_argument,
                    of.name() +
                        ": a standing hold to write was asked for: a device that writes some bytes leaves the "
                        "others as they are, so it has to be read_write");
    }
    lock through(of);
    check_may_stand(*through, asked);
    do {
        passage(through, asked).bring();
    } while (!stop_borrowing(through, asked));
    check_may_stand(*through, asked);  // the lock was let go of meanwhile
    check_not_uploaded(*through, asked);
    const std::uint64_t ticket = through->holds.add_standing({.part = asked.part,
                                                              .where = asked.where,
                                                              .what = asked.what,
                                                              .on = asked.on,
                                                              .how = std::make_shared<const standing_options>(how)});
    try {
        open_all(through, ticket);
    } catch (...) {
        through->holds.remove_standing(ticket);
        throw;
    }
    of.add_handle();
    through->hand_out(asked.where);
    return {of,
            ticket,
            {.where = asked.where,
             .handle = through->copies.find(asked.where.id())->handle(),
             .offset = asked.part.begin(),
             .bytes = asked.part.hull().size()}};
}

void resume_standing(core& of, std::uint64_t ticket) {
    const core_handle kept = another_handle(of);  // the hold may end meanwhile
    lock through(of);
    standing& held = *through->holds.find_standing(ticket);
    const region all = held.part;
    const space where = held.where;
    const std::optional<error> failed_before = std::exchange(held.broken, {});
    held.paused = {};
    held.pointed = {};
    held.shown_last = all.hull();
    held.since = through->holds.next_ticket();
    held.resume_failed = false;
    try {
        open_all(through, ticket);
    } catch (...) {
        if (standing* const failed = through->holds.find_standing(ticket)) {
            failed->resume_failed = true;
            failed->paused.add(to_open(*through, *failed, all, failed->shown_last));
        }
        throw;
    }
    check_not_contested(*through, {.part = all, .where = where, .what = access::read_write, .verb = "to resume"});
    if (!failed_before) return;
    throw error(failed_before->code(),
                fmt::format("{}: the device has all of its standing hold of {} now, but some could not be given "
                            "back before: {}",
                            of.name(), unibuf::describe(all), failed_before->message()));
}

void pause_standing(core& of, std::uint64_t ticket) {
    const core_handle kept = another_handle(of);  // the hold may end meanwhile
    lock through(of);
    const region part = through->holds.find_standing(ticket)->part;
    const request all{.part = part, .where = host, .what = access::read};
    claim keep(*through);
    wait_for_holds(through, all);
    pause_elsewhere(through, {.part = part, .where = host, .what = access::read_write}, keep);
    keep.take(part, all);
    wait_for_all_work(through, part, all);
    if (standing* const paused = through->holds.find_standing(ticket)) paused->paused = runs_of(part);
}

void end_standing(core& of, std::uint64_t ticket) noexcept {
    {
        std::shared_ptr<const standing_options> how;  // is destroyed without the lock, as it keeps what is the holder's
        lock through(of);
        const standing& held = *through->holds.find_standing(ticket);
        how = held.how;
        try {
            const bool reads = held.what == access::read;
            byte_ranges own = reads ? runs_of(held.part) : through->directory.where(held.part, is_open_at(held.where));
            queue_work_in(*through, held, own);
            for (const standing& each : through->holds.standing_holds()) {
                if (each.ticket != ticket && each.what != access::read) own.take_out(runs_of(each.part));
            }
            if (!reads) {
                for (const byte_range& each : own) coherence::pause(through->directory, each);
            }
        } catch (const std::exception&) {  // an access finds bytes that are open under no hold, and asks the device
        }
        through->holds.remove_standing(ticket);
        if (!through->holds.any_standing()) through->any_open = through->directory.summarize().any_open;
        through->tell_waiting();
    }
    of.drop_handle();
}

bool has_holders_to_ask(const guarded& state, const request& asked) { return to_ask(state, asked) != nullptr; }

void pause_elsewhere(lock& through, const request& asked, claim& keep) {
    ask_holders(through, asked, keep);
    for (standing& each : through->holds.standing_holds()) {
        if (!is_elsewhere(each, asked)) continue;
        each.resume_failed = false;
        for (const region& part : asked.part.common_with(each.part)) {
            if (each.how->opens == reopening::told) each.paused.add(runs_of(part));
            if (each.what != access::read) {
                queue_work_in(*through, each, through->directory.where(part, is_open_at(each.where)));
            } else if (asked.what != access::read) {
                queue_work_in(*through, each, runs_of(part));
            }
        }
    }
    for (const standing& each : through->holds.standing_holds()) {
        if (!is_elsewhere(each, asked) || each.what == access::read) continue;
        for (const region& part : asked.part.common_with(each.part)) {
            for (const byte_range& open : through->directory.where(part, is_open_at(each.where))) {
                coherence::pause(through->directory, open);
            }
        }
    }
    // Bytes may be open under no hold any more: their hold ended when there was no memory to say so.
    for (const copy& each : through->copies) {
        if (each.where == asked.where.id()) continue;
        const space where = space::from_id(each.where);
        for (const byte_range& left : through->directory.where(asked.part, is_open_at(where))) {
            through->holds.work().reserve(through->holds.size() + 1);
            queue_work_of(*through, where, left, true, {});
            coherence::pause(through->directory, left);
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
        each.shown_last = each.shown_last.joined_with(part.hull().clipped_to(each.part.hull()));
    }
}

void give_back_bytes_of(guarded& state, space where, const held_view& ended) noexcept {
    for (standing& each : state.holds.standing_holds()) {
        if (each.where == where || each.since > ended.number) continue;
        each.shown_last = each.shown_last.joined_with(ended.range().clipped_to(each.part.hull()));
    }
}

void check_not_broken(guarded& state, const request& asked) {
    for (standing& each : state.holds.standing_holds()) {
        if (!is_elsewhere(each, asked)) continue;
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
