// buffer/work_list.cpp
#include "buffer/work_list.hpp"

#include <algorithm>
#include <cassert>
#include <exception>

namespace unibuf::detail {

void work_list::reserve(std::size_t more) {
    if (!lists_) lists_ = std::make_unique<lists>();
    const std::size_t needed = lists_->ranges.size() + more;
    if (needed > lists_->ranges.capacity()) lists_->ranges.reserve(needed);
    if (needed > lists_->works.capacity()) lists_->works.reserve(needed);
}

void work_list::add(const coherence::queued_work& queued, work added) noexcept {
    assert(lists_ && lists_->ranges.size() < lists_->ranges.capacity() &&
           lists_->works.size() < lists_->works.capacity());
    added.late = dynamic_cast<const backends::late_work*>(added.done.native());
    auto& [ranges, works, last, long_from] = *lists_;
    for (std::size_t i = ranges.size(); i-- > 0;) {
        if (covers(queued, added, i)) remove_at(i);
    }
    ranges.push_back(queued);
    ranges.back().ticket = ++last;
    works.push_back(std::move(added));
}

/// Returns whether work that is queued now is done later than that at `index`, and keeps others from as much.
bool work_list::covers(const coherence::queued_work& queued, const work& added, std::size_t index) const noexcept {
    const coherence::queued_work& older = lists_->ranges[index];
    const work& before = lists_->works[index];
    const bool same_order = older.where == queued.where && before.on == added.on && before.thread == added.thread;
    const bool of_program = !before.transfer && !added.transfer && !before.unordered && !added.unordered;
    // What arrives at a device is carried by that device, and so in the order of the queue that was named. What is read
    // somewhere may be carried by anybody.
    const bool arrives = before.transfer && added.transfer && older.writes && queued.writes &&
                         queued.where != coherence::host && added.on;
    return same_order && (of_program || arrives) && queued.part.contains(older.part) &&
           (queued.writes || !older.writes);
}

bool work_list::has_late(const coherence::queued_work& queued, const named_queue& on) const noexcept {
    for (std::size_t i = 0; i < ranges().size(); ++i) {
        const coherence::queued_work& each = lists_->ranges[i];
        const work& of = lists_->works[i];
        const bool same = each.part == queued.part && each.where == queued.where && each.writes == queued.writes;
        if (same && of.on == on && of.is_late() && !of.orphaned && of.thread == this_thread()) return true;
    }
    return false;
}

bool work_list::is_before_all_on(const named_queue& on, coherence::space_id where,
                                 std::uint32_t thread) const noexcept {
    if (empty()) return true;
    for (std::size_t i = 0; i < lists_->ranges.size(); ++i) {
        const work& each = lists_->works[i];
        const bool same_order =
            lists_->ranges[i].where == where && each.on == on && each.thread == thread && !each.unordered;
        if (!same_order) return false;
    }
    return true;
}

const work* work_list::find(std::uint64_t ticket) const noexcept {
    const auto found = std::ranges::find(ranges(), ticket, &coherence::queued_work::ticket);
    return found == ranges().end() ? nullptr : &lists_->works[static_cast<std::size_t>(found - ranges().begin())];
}

void work_list::remove(std::uint64_t ticket) noexcept {
    if (const work* const found = find(ticket)) remove_at(static_cast<std::size_t>(found - lists_->works.data()));
}

void work_list::remove_all_of(const fence& done) noexcept {
    for (std::size_t i = ranges().size(); i-- > 0;) {
        if (lists_->works[i].done.native() == done.native()) remove_at(i);
    }
}

void work_list::orphan_all() noexcept {
    if (!lists_) return;
    for (work& each : lists_->works) each.orphaned = true;
}

void work_list::forget_done(bool asks_late) noexcept {
    for (std::size_t i = ranges().size(); i-- > 0;) {
        try {
            const work& each = lists_->works[i];
            if (each.unordered || (!asks_late && each.is_late())) continue;
            if (each.done.done()) remove_at(i);
        } catch (const std::exception&) {
        }
    }
    if (lists_) lists_->long_from = std::max(shortest_long, 2 * lists_->ranges.size());
}

std::vector<std::pair<std::uint64_t, fence>> work_list::events() const {
    std::vector<std::pair<std::uint64_t, fence>> result;
    for (std::size_t i = 0; i < ranges().size(); ++i) {
        if (lists_->works[i].unordered) result.emplace_back(lists_->ranges[i].ticket, lists_->works[i].done);
    }
    return result;
}

void work_list::remove_at(std::size_t index) noexcept {
    lists_->ranges.erase(lists_->ranges.begin() + static_cast<std::ptrdiff_t>(index));
    lists_->works.erase(lists_->works.begin() + static_cast<std::ptrdiff_t>(index));
}

}  // namespace unibuf::detail
