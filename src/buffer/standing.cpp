// buffer/standing.cpp: bytes go back and forth between standing holds and accesses elsewhere.
#include "buffer/standing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/spaces.hpp"
#include "buffer/borrowing.hpp"
#include "buffer/claim.hpp"
#include "buffer/holder_calls.hpp"
#include "buffer/leases.hpp"
#include "buffer/passage.hpp"
#include "buffer/poison.hpp"

namespace unibuf::detail {
namespace {

std::string describe(const standing& of) {
    return fmt::format("a standing hold of bytes [{}, {}) at {}", of.range.begin, of.range.end, of.where.name());
}

/// What the device may use now as it likes.
auto is_open_at(space where) {
    return [where](const coherence::knowledge& k) { return k.open && coherence::has(k.current, where.id()); };
}

/// The bytes of `of` that nobody holds and nobody has paused, and that its device does not have.
byte_ranges to_open(const guarded& state, const standing& of) {
    byte_ranges free = of.range;
    free.take_out(of.paused);
    free.take_out(state.holds.exclusively_held(of.range));
    byte_ranges result;
    const auto lacks = [&](const coherence::knowledge& k) {
        return of.what == access::read ? !coherence::has(k.current, of.where.id()) : !k.open;
    };
    for (const byte_range& each : free) result.add(state.directory.where(each, lacks));
    return result;
}

/// Gives `range` to the device, with the newest content.
void open_range(lock& through, const standing& of, byte_range range) {
    passage(through, {.range = range,
                      .where = of.where,
                      .what = of.what,
                      .why = cause::device_handle,
                      .on = of.on,
                      .waits_for_holds = false})
        .bring();
    if (of.what == access::read) return;
    coherence::open(through->directory, range, of.where.id());
    through->copies.find(of.where.id())->untouched = false;
    poison_stale(*through.operator->(), range);
}

/// The device has become quiet: what it was given to do is queued work on the bytes that were open.
void pause_range(lock& through, const standing& of, byte_range range) {
    const byte_ranges pieces = through->directory.where(range.clipped_to(of.range), is_open_at(of.where));
    through->holds.work().reserve(through->holds.size() + pieces.count());
    for (const byte_range& each : pieces) {
        queue_work_of(through, of.where, each, true, of.on);
        coherence::pause(through->directory, each);
    }
}

/// Throws where bytes could not be opened; those before them are. The holder goes on when it has all of them: it pauses
/// as a whole.
void open_all(lock& through, std::uint64_t ticket) {
    for (const byte_range& each : to_open(*through.operator->(), *through->holds.find_standing(ticket))) {
        open_range(through, *through->holds.find_standing(ticket), each);
    }
    const standing& of = *through->holds.find_standing(ticket);
    if (!of.told_to_pause || of.being_called || !of.paused.empty()) return;
    if (through->holds.exclusively_held(of.range).empty()) tell_to_resume(through, ticket);
}

}  // namespace

unibuf::standing_hold begin_standing(core& of, const request& asked, const standing_options& how) {
    if (asked.where == host) {
        throw error(error_code::invalid_argument,
                    of.name() + ": a standing hold at the host was asked for: host() and host_view() are that");
    }
    if (asked.what == access::write) {
        throw error(error_code::invalid_argument,
                    of.name() + ": a standing hold to write was asked for: a device that writes some bytes leaves the "
                                "others as they are, so it has to be read_write");
    }
    lock through(of);
    if (const standing* const other = through->holds.standing_against(
            asked.range, asked.where, asked.what, through->copies.memories())) {
        throw error(error_code::access_conflict,
                    fmt::format("{}: a standing hold at {} was asked for while there is {}: end that one first",
                                of.name(), asked.where.name(), describe(*other)));
    }
    passage(through, asked).bring();
    stop_borrowing(through, asked);
    const std::uint64_t ticket =
        through->holds.add_standing({.range = asked.range,
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
    return {of,
            ticket,
            {.where = asked.where,
             .handle = through->copies.find(asked.where.id())->handle(),
             .offset = asked.range.begin,
             .bytes = asked.range.size()}};
}

void resume_standing(core& of, std::uint64_t ticket) {
    lock through(of);
    standing& held = *through->holds.find_standing(ticket);
    held.paused = {};
    held.broken.clear();
    try {
        open_all(through, ticket);
    } catch (const error&) {
        standing& failed = *through->holds.find_standing(ticket);
        failed.paused.add(to_open(*through.operator->(), failed));
        throw;
    }
}

void pause_standing(core& of, std::uint64_t ticket) {
    lock through(of);
    const standing& held = *through->holds.find_standing(ticket);
    const request all{.range = held.range, .where = host, .what = access::read};
    claim keep(through);
    wait_for_holds(through, all);
    pause_elsewhere(through, all, keep);
    keep.take(all.range, all);
    wait_for_all_work(through, all);
    standing& paused = *through->holds.find_standing(ticket);
    paused.paused = paused.range;
}

void end_standing(core& of, std::uint64_t ticket) noexcept {
    {
        std::shared_ptr<const standing_options> how;  // goes without the lock: what it has is the holder's
        lock through(of);
        standing& held = *through->holds.find_standing(ticket);
        how = held.how;
        try {
            held.paused = held.range;
            pause_range(through, held, held.range);
        } catch (const std::exception&) {  // an access finds bytes that are open under no hold, and asks the device
        }
        through->holds.remove_standing(ticket);
    }
    of.drop_handle();
}

void pause_elsewhere(lock& through, const request& asked, claim& keep) {
    for (std::size_t i = 0; i < through->holds.standing_holds().size(); ++i) {
        standing& each = through->holds.standing_holds()[i];
        if (each.where == asked.where || !each.range.overlaps(asked.range)) continue;
        if (each.how->opens == reopening::told) each.paused.add(asked.range.clipped_to(each.range));
        if (each.what == access::read) {
            if (asked.what == access::read) continue;
            through->holds.work().reserve(through->holds.size() + 1);
            queue_work_of(through, each.where, asked.range.clipped_to(each.range), false, each.on);
            continue;
        }
        if (!through->directory.any(asked.range, is_open_at(each.where))) continue;
        const std::uint64_t ticket = each.ticket;
        ask_to_pause(through, ticket, asked, keep);
        i = through->holds.index_of_standing(ticket);  // others may have come or gone meanwhile
        if (!through->holds.find_standing(ticket)) continue;
        pause_range(through, through->holds.standing_holds()[i], asked.range);
    }
    // What is open under no hold any more: its holder has gone without memory to say so.
    for (byte_range left = coherence::open_elsewhere_in(through->directory, asked.range, asked.where.id());
         !left.empty(); left = coherence::open_elsewhere_in(through->directory, asked.range, asked.where.id())) {
        for (const copy& each : through->copies) {
            if (!through->directory.any(left, is_open_at(space::from_id(each.where)))) continue;
            through->holds.work().reserve(through->holds.size() + 1);
            queue_work_of(through, space::from_id(each.where), left, true, {});
        }
        coherence::pause(through->directory, left);
    }
}

void pause_for_pointer(lock& through, byte_range range) {
    for (standing& each : through->holds.standing_holds()) each.paused.add(range.clipped_to(each.range));
}

void end_pause_of_pointers(lock& through, byte_range range) noexcept {
    try {
        for (standing& each : through->holds.standing_holds()) {
            if (each.how->opens == reopening::told || !each.broken.empty()) continue;
            byte_ranges ended = range.clipped_to(each.range);
            ended.take_out(through->holds.writers_of_host().of(range));
            each.paused.take_out(ended);
        }
    } catch (const std::bad_alloc&) {  // they stay paused until resume
    }
}

/// Why its bytes that could be given to the device stay elsewhere until the hold is resumed.
void note_broken(lock& through, std::uint64_t ticket, const char* why) noexcept {
    try {
        standing& broken = *through->holds.find_standing(ticket);
        broken.paused.add(to_open(*through.operator->(), broken));
        broken.broken = why;
    } catch (const std::bad_alloc&) {  // the next access tries again
    }
}

void open_again(lock& through) noexcept {
    for (std::size_t i = 0; i < through->holds.standing_holds().size(); ++i) {
        const std::uint64_t ticket = through->holds.standing_holds()[i].ticket;
        try {
            open_all(through, ticket);
        } catch (const error& failure) {
            // Contested bytes say so themselves, and are open again when it is settled which version stands.
            if (failure.code() != error_code::access_conflict) note_broken(through, ticket, failure.what());
        } catch (const std::exception& failure) {
            note_broken(through, ticket, failure.what());
        }
        i = through->holds.index_of_standing(ticket);
    }
}

void check_not_broken(lock& through, const request& asked) {
    for (standing& each : through->holds.standing_holds()) {
        if (each.broken.empty() || !each.range.overlaps(asked.range)) continue;
        throw error(error_code::transfer_failed,
                    fmt::format("{}: bytes of {} could not be given back to it, and are newest elsewhere until it is "
                                "resumed: {}",
                                through.of().name(), describe(each), std::exchange(each.broken, {})));
    }
}

void check_no_standing(lock& through, byte_range range, const char* verb) {
    for (const standing& each : through->holds.standing_holds()) {
        if (!each.range.overlaps(range)) continue;
        throw error(error_code::access_conflict, fmt::format("{}: {} was asked for, but there is {}: end that one first",
                                                             through.of().name(), verb, describe(each)));
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
