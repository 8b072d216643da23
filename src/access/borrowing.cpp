// access/borrowing.cpp: hands a memory over, or gives each device one of its own.
#include "access/borrowing.hpp"

#include <fmt/format.h>

#include <utility>

#include "access/transfers.hpp"
#include "access/waits.hpp"
#include "backends/spaces.hpp"
#include "trace/counters.hpp"

namespace unibuf::detail {
namespace {

using coherence::space_id;

/// Gives the memory to the space of the access. Where the memory was not to be had, returns false, says why, and leaves
/// all as before.
bool hand_over(lock& locked, const access_request& request, std::string& why) {
    claim whole(*locked);
    whole.take(locked->whole(), request);
    const copy& borrower = *locked->copies.borrower_among(request.where.id());
    backends::memory& memory = *borrower.memory;
    const space_id device = borrower.where;
    const space_id before = borrower.whose_turn();
    const space_id now = request.where.id();
    work made{.done = {}, .on = request.on};
    try {
        wait_for_work_at(locked, before, true, request.waits);
        locked->holds.work().reserve(locked->holds.size() + 2);
    } catch (const error& failure) {
        rethrow_naming_access(locked.of(), request, failure);
    }
    try {
        const queue on = queue_at(request, device);
        const std::size_t bytes = locked.of().bytes;
        const lock::released unlocked(locked);
        made.done = now == device ? memory.publish_to_device(0, bytes, access::read_write, on)
                                  : memory.publish_to_host(0, bytes, access::read_write, on);
    } catch (const error& failure) {
        if (now != device) rethrow_naming_access(locked.of(), request, failure);
        why = fmt::format("sharing failed: {}", failure.message());
        return false;
    }
    trace::count_publication();
    ++locked->with_seldom_used().publications;
    locked->copies.find(device)->has_turn = now == device;
    coherence::hand_over(locked->directory, before, now);
    if (!made.done.native()) return true;
    locked->holds.work().add({.part = locked->whole(), .where = now, .writes = true}, made);
    return true;
}

/// Ends the sharing. The space of the access, which does not have the memory, has no copy then.
void separate(lock& locked, const access_request& request, std::string why) {
    claim whole(*locked);
    whole.take(locked->whole(), request);
    const space_id where = request.where.id();
    try {
        // Where the copy is the lender's, its memory goes on with the other copy, so only a borrower's work is waited
        // for.
        if (locked->copies.find(where)->borrows()) wait_for_work_at(locked, where, false, request.waits);
    } catch (const error& failure) {
        rethrow_naming_access(locked.of(), request, failure);
    }
    locked->holds.end_handles(where, locked->whole());
    locked->copies.separate(where, std::move(why));
}

/// Waits until nobody moves bytes of the buffer or makes a copy. Returns whether it had to wait.
bool wait_for_moves(lock& locked, const access_request& request) {
    const auto any_claim = [&] {
        return request.joint ? locked->holds.claimed_by_others(this_thread()) : locked->holds.any_claim();
    };
    const auto quiet = [&] { return !locked->making_copy && !any_claim(); };
    if (quiet()) return false;
    locked.wait_until(quiet, request.hold_limit(), [&] {
        return fmt::format(
            "{}: its memory was to go to {}, but another thread moved bytes for all of the time that "
            "was given",
            locked.of().name(), request.where.name());
    });
    return true;
}

}  // namespace

bool take_memory(lock& locked, const access_request& request) {
    const space_id where = request.where.id();
    const copy* const borrower = locked->copies.borrower_among(where);
    if (!borrower || borrower->whose_turn() == where || request.part.empty()) return false;
    if (wait_for_moves(locked, request)) return true;
    const space other = space::from_id(borrower->whose_turn());
    std::string why;
    const bool is_used = locked->holds.any_at(other) || (request.joint && locked->holds.any_joint_at(other));
    if (is_used || locked->holds.stands_at(other)) {
        why = fmt::format("{} and {} were in use at the same time", other.name(), request.where.name());
    } else if (hand_over(locked, request, why)) {
        return true;
    }
    separate(locked, request, std::move(why));
    return true;
}

bool stop_borrowing(lock& locked, const access_request& request) {
    const copy* const borrower = locked->copies.borrower_among(request.where.id());
    if (!borrower || request.part.empty()) return true;
    if (wait_for_moves(locked, request) || borrower->whose_turn() != request.where.id()) return false;
    access_request other = request;
    other.where = space::from_id(borrower->where == request.where.id() ? borrower->lender : borrower->where);
    separate(locked, other, fmt::format("a standing hold at {} keeps the memory", request.where.name()));
    return true;
}

void give_memory_back(lock& locked, const access_request& request, const copy& borrower) {
    access_request lender = request;
    lender.where = space::from_id(borrower.lender);
    std::string why;
    hand_over(locked, lender, why);
}

}  // namespace unibuf::detail
