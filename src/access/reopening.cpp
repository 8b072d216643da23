// access/reopening.cpp: what a standing hold may have again is decided by the directory and the holds alone.
#include "access/reopening.hpp"

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "access/passage.hpp"
#include "access/standing.hpp"

namespace unibuf::detail {

byte_ranges to_give_back(guarded& state, const standing& of, const region& within, byte_range maybe_written) {
    byte_ranges free = runs_of(of.part, within);
    const byte_range looked_at = of.part.hull().clipped_to(within.hull());  // of many pieces each is asked for alone
    free.take_out(of.paused.clipped_to(looked_at));
    free.take_out(state.holds.kept_from(of, looked_at));
    free.take_out(state.holds.exclusively_held(looked_at));
    byte_ranges result;
    const auto add_where = [&](const byte_ranges& ranges, const auto& lacks) {
        for (const byte_range& each : ranges) result.add(state.directory.where(each, lacks));
    };
    if (of.what != access::read) {
        add_where(free, [](const coherence::knowledge& k) { return !k.open && !k.contested; });
        return result;
    }
    add_where(free, [&](const coherence::knowledge& k) {
        return (!coherence::has(k.current, of.where.id()) || k.lost) && !k.contested;
    });
    if (!state.any_exposed) return result;
    // Writes are found when the bytes are brought.
    byte_ranges written_later = state.holds.writers_of_host().of(looked_at);
    written_later.take_out(maybe_written);
    free.take_out(written_later);
    add_where(free, [](const coherence::knowledge& k) { return k.exposed() && !k.contested; });
    return result;
}

namespace {

/// Returns whether the device may use all bytes of its hold.
bool has_all(guarded& state, const standing& of) {
    if (!of.paused.empty() || state.holds.keeps_any_from(of)) return false;
    if (of.what != access::read) return !state.directory.any(of.part, [](const auto& k) { return !k.open; });
    return state.holds.excluding(of.part, access::read, 0).thread == 0 && to_give_back(state, of, of.part, {}).empty();
}

/// Returns whether something may have to move before the device has the newest content of `range`.
bool lacks_any(guarded& state, space where, byte_range range) {
    return state.any_exposed || state.peers() || state.directory.any(range, [&](const coherence::knowledge& k) {
        return !coherence::has(k.current, where.id()) || k.lost || k.contested;
    });
}

/// Gives `range` to the device, with the newest content. The hold may have ended when it returns.
void open_range(lock& locked, std::uint64_t ticket, byte_range range) {
    const standing* of = locked->holds.find_standing(ticket);
    const space where = of->where;
    if (lacks_any(*locked, where, range)) {
        const access_request request{.part = range,
                                     .where = where,
                                     .what = of->what,
                                     .why = cause::device_handle,
                                     .on = of->on,
                                     .waits = {},  // nobody ends what the end of an access does
                                     .is_guarded = false,
                                     .waits_for_holds = false};
        passage(locked, request).bring();
        of = locked->holds.find_standing(ticket);
        if (!of) return;
    }
    if (of->what == access::read) return;
    // The lock may have been let go of since: what others have taken meanwhile stays theirs.
    for (const byte_range& each : to_give_back(*locked, *of, range, {})) {
        const promise in(locked->directory, each);
        now_written(*locked, in, each, where);
        locked->any_open = true;
        coherence::open(in, each, where.id());
    }
}

}  // namespace

void call_holder(lock& locked, std::uint64_t ticket, std::function<void()> standing_options::* what, bool pauses) {
    standing& of = *locked->holds.find_standing(ticket);
    std::shared_ptr<const standing_options> how = of.how;
    of.caller = this_thread();
    ++locked->waiting;  // keeps the gate shut
    std::exception_ptr failure;
    {
        const lock::released unlocked(locked);
        try {
            if ((*how).*what) ((*how).*what)();
        } catch (...) {
            failure = std::current_exception();
        }
    }
    if (standing* const same = locked->holds.find_standing(ticket)) {
        same->caller = 0;
        if (!failure) same->told_to_pause = pauses;
    } else {
        const lock::released unlocked(locked);
        how.reset();  // what is the holder's is destroyed without the lock
    }
    --locked->waiting;
    locked->tell_waiting();
    if (failure) std::rethrow_exception(failure);
}

namespace {

/// Gives the device the bytes that to_give_back returns.
void give_bytes(lock& locked, std::uint64_t ticket, byte_range maybe_written) {
    guarded& state = *locked;
    std::exception_ptr failure;
    bool again = true;  // the bytes around a conflict are tried once more
    for (int round = 0; round < 2 && std::exchange(again, false); ++round) {
        const standing* of = state.holds.find_standing(ticket);
        if (!of) return;
        for (const byte_range& each : to_give_back(state, *of, of->part, maybe_written)) {
            of = state.holds.find_standing(ticket);  // the lock was let go of since
            if (!of) return;
            for (const byte_range& piece : to_give_back(state, *of, each, maybe_written)) {
                if (!state.holds.find_standing(ticket)) return;
                try {
                    open_range(locked, ticket, piece);
                } catch (const error& thrown) {
                    again |= thrown.code() == error_code::access_conflict;
                    if (!failure) failure = std::current_exception();
                }
            }
        }
    }
    if (failure) std::rethrow_exception(failure);
}

/// Gives the device the bytes that it lacks and may have.
void give_bytes(lock& locked, std::uint64_t ticket) {
    const byte_range maybe_written = std::exchange(locked->holds.find_standing(ticket)->maybe_written, {});
    try {
        give_bytes(locked, ticket, maybe_written);
    } catch (...) {
        standing* const of = locked->holds.find_standing(ticket);
        if (of) of->maybe_written = of->maybe_written.joined_with(maybe_written);
        throw;
    }
}

/// Tells a holder that was told to pause that the device may go on, where it has all of its bytes.
void go_on(lock& locked, std::uint64_t ticket) {
    const standing* const of = locked->holds.find_standing(ticket);
    if (!of || !of->told_to_pause || of->resume_again || of->caller != 0) return;
    if (has_all(*locked, *of)) call_holder(locked, ticket, &standing_options::resume, false);
}

}  // namespace

void open_all(lock& locked, std::uint64_t ticket) {
    give_bytes(locked, ticket);
    go_on(locked, ticket);
}

namespace {

/// Notes why bytes stay elsewhere that the device should have been given. They are paused until the hold is resumed.
void note_broken(guarded& state, std::uint64_t ticket, error_code code, std::string_view why) noexcept {
    try {
        standing* const broken = state.holds.find_standing(ticket);
        if (!broken) return;
        broken->paused.add(to_give_back(state, *broken, broken->part, broken->maybe_written));
        broken->maybe_written = {};
        broken->broken = error(code, std::string(why));
        broken->resume_again = true;
    } catch (const std::bad_alloc&) {  // the next access tries again
    }
}

/// Calls `act`. Returns whether it succeeded. Failures are noted, but for those with the codes `passing`.
bool attempt(lock& locked, std::uint64_t ticket, void (*act)(lock&, std::uint64_t),
             std::initializer_list<error_code> passing) noexcept {
    try {
        act(locked, ticket);
        return true;
    } catch (const error& failure) {
        if (std::ranges::find(passing, failure.code()) == passing.end()) {
            note_broken(*locked, ticket, failure.code(), failure.message());
        }
    } catch (const std::bad_alloc&) {
        note_broken(*locked, ticket, error_code::out_of_memory, "the host has no memory for bookkeeping");
    } catch (const std::exception& failure) {
        note_broken(*locked, ticket, error_code::transfer_failed, failure.what());
    } catch (...) {
        note_broken(*locked, ticket, error_code::transfer_failed, "its holder threw what is no std::exception");
    }
    return false;
}

/// Returns whether it is plain that the device of the hold has all that it may have, and its holder knows.
bool is_at_rest(const guarded& state, const standing& of) noexcept {
    if (of.told_to_pause || !of.maybe_written.empty()) return false;
    if (of.what != access::read) return !state.directory.any(of.part, [](const auto& k) { return !k.open; });
    return !state.any_exposed && !state.directory.any(of.part, [&](const coherence::knowledge& k) {
        return !coherence::has(k.current, of.where.id()) || k.lost;
    });
}

}  // namespace

void open_again(lock& locked) noexcept {
    for (std::size_t i = 0; i < locked->holds.standing_holds().size(); ++i) {
        const standing& next = locked->holds.standing_holds()[i];
        if (is_at_rest(*locked, next)) continue;
        const std::uint64_t ticket = next.ticket;
        // Contested bytes say so themselves, and are open again when it is settled which version stands. Bytes that
        // were in use all the time are tried again when the lock is let go of the next time.
        if (attempt(locked, ticket, give_bytes, {error_code::access_conflict, error_code::timeout})) {
            attempt(locked, ticket, go_on, {});
        }
        i = locked->holds.index_of_standing(ticket);
    }
}

}  // namespace unibuf::detail
