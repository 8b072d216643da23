// buffer/work_list.cpp: device work on one buffer, by the bytes that it uses.
#include "buffer/work_list.hpp"

#include <algorithm>
#include <cassert>
#include <exception>

namespace unibuf::detail {

work_list::table::~table() {
    by_range.clear([](coherence::queued_node& each) { delete static_cast<entry*>(&each); });
    while (spare) delete std::exchange(spare, spare->next);
}

void work_list::reserve(std::size_t more) {
    if (!table_) table_ = std::make_unique<table>();
    for (; table_->spares < more; ++table_->spares) {
        auto* const made = new entry;
        made->next = std::exchange(table_->spare, made);
    }
}

void work_list::add(const queued_work& queued, work added) noexcept {
    assert(table_ && table_->spares != 0);
    added.late = dynamic_cast<const backends::late_work*>(added.done.native());
    remove_where([&](const queued_work& older, const work& before) { return covers(queued, added, older, before); },
                 queued.part);
    entry& made = *std::exchange(table_->spare, table_->spare->next);
    --table_->spares;
    static_cast<queued_work&>(made) = queued;
    made.ticket = {++table_->last, &made};
    made.of = std::move(added);
    note_order(made, made.of);
    ++table_->count;
    ++table_->count_at[queued.where];
    table_->spaces |= coherence::set_of(queued.where);
    table_->writers += queued.writes;
    table_->by_range.add(made);
}

/// Returns whether work that is queued now is done later than older work, and keeps others from as much. It is so on a
/// queue without order, too: the end of a lease there is a marker behind all that is on the queue, and what unibuf
/// queues itself is in an order of its own.
bool work_list::covers(const queued_work& queued, const work& added, const queued_work& older,
                       const work& before) noexcept {
    const bool of_program = !before.transfer && !added.transfer && !before.unordered && !added.unordered;
    // What arrives at a device is carried by that device, and so in the order of the queue that was named. What is read
    // somewhere may be carried by anybody.
    const bool arrives = before.transfer && added.transfer && older.writes && queued.writes &&
                         queued.where != coherence::host && added.on;
    return order_of(older, before) == order_of(queued, added) && (of_program || arrives) &&
           queued.part.contains(older.part) && (queued.writes || !older.writes);
}

/// Notes whether all work is in one order still, once there is this, too.
void work_list::note_order(const queued_work& queued, const work& added) noexcept {
    const order of_added = order_of(queued, added);
    const bool is_first = table_->count == 0;
    if (is_first) table_->in = of_added;
    table_->in_one_order = (is_first || table_->in_one_order) && of_added == table_->in && !added.unordered;
}

bool work_list::has_late(const queued_work& queued, const named_queue& on) const noexcept {
    const std::size_t begin = queued.part.begin();
    return by_range().any({begin, begin + 1}, [&](const coherence::queued_node& each) {
        const work& found = of(each);
        return each.part == queued.part && each.where == queued.where && each.writes == queued.writes &&
               found.on == on && found.is_late() && !found.orphaned && found.thread == this_thread();
    });
}

bool work_list::is_before_all_on(const named_queue& on, coherence::space_id where,
                                 std::uint32_t thread) const noexcept {
    return empty() || (on.is_in_order() && table_->in_one_order && table_->in == order{on, where, thread});
}

const work* work_list::find(const ticket& which) const noexcept {
    const auto* const found = static_cast<const entry*>(which.at);
    return found && found->ticket == which ? &found->of : nullptr;
}

void work_list::remove(const ticket& which) noexcept {
    if (find(which)) take_out(*static_cast<entry*>(const_cast<void*>(which.at)));
}

void work_list::note_failure(const ticket& which, const std::exception_ptr& failure) noexcept {
    if (find(which)) static_cast<entry*>(const_cast<void*>(which.at))->of.failure = failure;
}

void work_list::orphan_all() noexcept {
    by_range().any([](coherence::queued_node& each) {
        static_cast<entry&>(each).of.orphaned = true;
        return false;
    });
}

void work_list::forget_done(const region& part, bool asks_late) noexcept {
    if (empty()) return;
    asks_late = asks_late || is_long();
    const auto is_done = [&](const queued_work&, const work& each) {
        if (each.unordered || (!asks_late && each.is_late())) return false;
        try {
            return each.done.done();
        } catch (const std::exception&) {
            return false;
        }
    };
    if (!is_asked_as_a_whole()) return remove_where(is_done, part);
    remove_where(is_done);
    table_->long_from = std::max(shortest_long, 2 * table_->count);
    const std::size_t count = std::exchange(table_->count, 0);  // the order of all is found anew
    any([&](const queued_work& each, const work& of) {
        note_order(each, of);
        ++table_->count;
        return false;
    });
    assert(table_->count == count);
    static_cast<void>(count);
}

std::vector<std::pair<work_list::ticket, fence>> work_list::events(const region& part) const {
    std::vector<std::pair<ticket, fence>> result;
    const auto add = [&](const queued_work& queued, const work& each) {
        if (each.unordered && !each.failure) result.emplace_back(queued.ticket, each.done);
        return false;
    };
    is_asked_as_a_whole() ? any(add) : any(part, add);
    return result;
}

void work_list::take_out(entry& gone) noexcept {
    table_->by_range.remove(gone);
    --table_->count;
    if (--table_->count_at[gone.where] == 0) table_->spaces &= ~coherence::set_of(gone.where);
    table_->writers -= gone.writes;
    gone.ticket = {};
    gone.of = {};
    gone.next = std::exchange(table_->spare, &gone);
    ++table_->spares;
}

}  // namespace unibuf::detail
