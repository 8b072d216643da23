// buffer/work_list.cpp
#include "buffer/work_list.hpp"

#include <algorithm>
#include <exception>

namespace unibuf::detail {

void work_list::reserve(std::size_t more) {
    if (!lists_) lists_ = std::make_unique<lists>();
    const std::size_t needed = lists_->ranges.size() + more;
    if (needed > lists_->ranges.capacity()) lists_->ranges.reserve(needed);
    if (needed > lists_->works.capacity()) lists_->works.reserve(needed);
}

void work_list::add(const coherence::queued_work& queued, work added) {
    reserve(1);
    auto& [ranges, works, last] = *lists_;
    for (std::size_t i = ranges.size(); i-- > 0;) {
        const bool same_order =
            ranges[i].where == queued.where && works[i].on.native == added.on.native && works[i].thread == added.thread;
        if (same_order && queued.range.contains(ranges[i].range) && (queued.writes || !ranges[i].writes) &&
            !works[i].transfer && !added.transfer && !works[i].unordered && !added.unordered) {
            remove_at(i);
        }
    }
    ranges.push_back(queued);
    ranges.back().ticket = ++last;
    works.push_back(std::move(added));
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

void work_list::forget_done() noexcept {
    for (std::size_t i = ranges().size(); i-- > 0;) {
        try {
            if (lists_->works[i].done.done()) remove_at(i);
        } catch (const std::exception&) {
        }
    }
}

void work_list::remove_at(std::size_t index) noexcept {
    lists_->ranges.erase(lists_->ranges.begin() + static_cast<std::ptrdiff_t>(index));
    lists_->works.erase(lists_->works.begin() + static_cast<std::ptrdiff_t>(index));
}

}  // namespace unibuf::detail
