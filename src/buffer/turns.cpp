// buffer/turns.cpp: two devices with one memory, of which only one may touch it at a time.
//
// For the directory they are two memories, and the one whose turn it is not holds nothing: what is current goes along
// when the memory changes hands. So a plan never needs to know. A program that uses both at once gets two memories
// after all: what it may do does not depend on what its devices can share.
#include <fmt/format.h>

#include <utility>

#include "backends/spaces.hpp"
#include "buffer/core_access.hpp"
#include "trace/counters.hpp"

namespace unibuf::detail {

using coherence::space_id;

bool core::take_memory(locked& lock, const demand& asked) {
    const space_id where = asked.where.id();
    const copy* const borrower = copies_.borrower_among(where);
    if (!borrower || borrower->holder() == where || asked.range.empty()) return false;
    if (making_copy_ || leases_.any_claim()) {
        if (lock.wait_for_change(asked.deadline)) return true;
        throw error(error_code::timeout,
                    fmt::format("{}: its memory was to go to {}, but another thread moved bytes for all of the time "
                                "that was given",
                                name(), asked.where.name()));
    }
    const space other = space::from_id(borrower->holder());
    steps turn(*this, lock, asked);
    std::string why;
    if (leases_.any_at(other)) {
        why = fmt::format("{} and {} were in use at the same time", other.name(), asked.where.name());
    } else if (turn.hand_over(why)) {
        return true;
    }
    turn.part(std::move(why));
    return true;
}

bool core::steps::hand_over(std::string& why) {
    claim(core_.directory_.whole());
    const copy& borrower = *core_.copies_.borrower_among(asked_.where.id());
    backends::memory& memory = *borrower.memory;
    const space_id device = borrower.where;
    const space_id before = borrower.holder();
    const space_id now = asked_.where.id();
    work made{.done = {}, .on = asked_.on};
    try {
        wait_for_work_at(before, true);
        core_.work_.reserve(core_.leases_.size() + 2);
    } catch (const error& failure) {
        tell(failure);
    }
    try {
        const locked::pause unlocked(lock_);
        const queue on = queue_at(device);
        made.done = now == device ? memory.publish_to_device(0, core_.bytes, access::read_write, on)
                                  : memory.publish_to_host(0, core_.bytes, access::read_write, on);
    } catch (const error& failure) {
        if (now != device) tell(failure);
        why = fmt::format("sharing failed: {}", failure.what());
        return false;
    }
    trace::count_publication();
    ++core_.with_rare().publications;
    core_.copies_.find(device)->has_turn = now == device;
    coherence::hand_over(core_.directory_, before, now);
    if (!made.done.native()) return true;
    core_.work_.add({.range = core_.directory_.whole(), .where = now, .writes = true}, made);
    return true;
}

void core::steps::part(std::string why) {
    claim(core_.directory_.whole());
    const space_id where = asked_.where.id();
    try {
        // The memory of a lender goes on, with the other copy.
        if (core_.copies_.find(where)->borrows()) wait_for_work_at(where, false);
    } catch (const error& failure) {
        tell(failure);
    }
    core_.copies_.part(where, std::move(why));
}

void core::steps::wait_for_work_at(space_id where, bool transfers_only) {
    std::vector<std::uint64_t> tickets;
    for (const coherence::queued_work& each : core_.work_.ranges()) {
        if (each.where != where) continue;
        if (!transfers_only || core_.work_.find(each.ticket)->transfer) tickets.push_back(each.ticket);
    }
    for (const std::uint64_t ticket : tickets) wait(ticket);
}

}  // namespace unibuf::detail
