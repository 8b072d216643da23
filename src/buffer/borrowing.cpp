// buffer/borrowing.cpp: hands a memory over, or gives each device one of its own.
#include "buffer/borrowing.hpp"

#include <fmt/format.h>

#include <utility>

#include "backends/spaces.hpp"
#include "buffer/transfers.hpp"
#include "buffer/waits.hpp"
#include "trace/counters.hpp"

namespace unibuf::detail {
namespace {

using coherence::space_id;

/// Gives the memory to the space of the access. Where the memory was not to be had, returns false, says why, and leaves
/// all as before.
bool hand_over(lock& through, const request& asked, std::string& why) {
    claim whole(*through);
    whole.take(through->whole(), asked);
    const copy& borrower = *through->copies.borrower_among(asked.where.id());
    backends::memory& memory = *borrower.memory;
    const space_id device = borrower.where;
    const space_id before = borrower.whose_turn();
    const space_id now = asked.where.id();
    work made{.done = {}, .on = asked.on};
    try {
        wait_for_work_at(through, before, true, asked.waits);
        through->holds.work().reserve(through->holds.size() + 2);
    } catch (const error& failure) {
        tell_of_access(through.of(), asked, failure);
    }
    try {
        const queue on = queue_at(asked, device);
        const std::size_t bytes = through.of().bytes;
        const lock::released unlocked(through);
        made.done = now == device ? memory.publish_to_device(0, bytes, access::read_write, on)
                                  : memory.publish_to_host(0, bytes, access::read_write, on);
    } catch (const error& failure) {
        if (now != device) tell_of_access(through.of(), asked, failure);
        why = fmt::format("sharing failed: {}", failure.message());
        return false;
    }
    trace::count_publication();
    ++through->with_seldom_used().publications;
    through->copies.find(device)->has_turn = now == device;
    coherence::hand_over(through->directory, before, now);
    if (!made.done.native()) return true;
    through->holds.work().add({.part = through->whole(), .where = now, .writes = true}, made);
    return true;
}

/// Ends the sharing. The space of the access, which does not have the memory, has no copy then.
void separate(lock& through, const request& asked, std::string why) {
    claim whole(*through);
    whole.take(through->whole(), asked);
    const space_id where = asked.where.id();
    try {
        // Where the copy is the lender's, its memory goes on with the other copy, so only a borrower's work is waited
        // for.
        if (through->copies.find(where)->borrows()) wait_for_work_at(through, where, false, asked.waits);
    } catch (const error& failure) {
        tell_of_access(through.of(), asked, failure);
    }
    through->holds.end_handles(where, through->whole());
    through->copies.separate(where, std::move(why));
}

/// Waits until nobody moves bytes of the buffer or makes a copy. Returns whether it had to wait.
bool wait_for_moves(lock& through, const request& asked) {
    const auto any_claim = [&] {
        return asked.joint ? through->holds.claimed_by_others(this_thread()) : through->holds.any_claim();
    };
    const auto quiet = [&] { return !through->making_copy && !any_claim(); };
    if (quiet()) return false;
    through.wait_until(quiet, asked.hold_limit(), [&] {
        return fmt::format(
            "{}: its memory was to go to {}, but another thread moved bytes for all of the time that "
            "was given",
            through.of().name(), asked.where.name());
    });
    return true;
}

}  // namespace

bool take_memory(lock& through, const request& asked) {
    const space_id where = asked.where.id();
    const copy* const borrower = through->copies.borrower_among(where);
    if (!borrower || borrower->whose_turn() == where || asked.part.empty()) return false;
    if (wait_for_moves(through, asked)) return true;
    const space other = space::from_id(borrower->whose_turn());
    std::string why;
    const bool is_used = through->holds.any_at(other) || (asked.joint && through->holds.any_joint_at(other));
    if (is_used || through->holds.stands_at(other)) {
        why = fmt::format("{} and {} were in use at the same time", other.name(), asked.where.name());
    } else if (hand_over(through, asked, why)) {
        return true;
    }
    separate(through, asked, std::move(why));
    return true;
}

bool stop_borrowing(lock& through, const request& asked) {
    const copy* const borrower = through->copies.borrower_among(asked.where.id());
    if (!borrower || asked.part.empty()) return true;
    if (wait_for_moves(through, asked) || borrower->whose_turn() != asked.where.id()) return false;
    request other = asked;
    other.where = space::from_id(borrower->where == asked.where.id() ? borrower->lender : borrower->where);
    separate(through, other, fmt::format("a standing hold at {} keeps the memory", asked.where.name()));
    return true;
}

void give_memory_back(lock& through, const request& asked, const copy& borrower) {
    request lender = asked;
    lender.where = space::from_id(borrower.lender);
    std::string why;
    hand_over(through, lender, why);
}

}  // namespace unibuf::detail
