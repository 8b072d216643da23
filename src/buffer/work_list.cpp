// buffer/work_list.cpp
#include "buffer/work_list.hpp"

#include <exception>

namespace unibuf::detail {

void work_list::reserve(std::size_t more) {
    const std::size_t needed = ranges_.size() + more;
    if (needed > ranges_.capacity()) ranges_.reserve(needed);
    if (needed > works_.capacity()) works_.reserve(needed);
}

void work_list::add(const coherence::queued_work& queued, work added) {
    reserve(1);
    for (std::size_t i = ranges_.size(); i-- > 0;) {
        const bool same_order = ranges_[i].where == queued.where && works_[i].on.native == added.on.native &&
                                works_[i].thread == added.thread;
        if (same_order && queued.range.contains(ranges_[i].range) && (queued.writes || !ranges_[i].writes) &&
            !works_[i].transfer && !added.transfer) {
            remove_at(i);
        }
    }
    ranges_.push_back(queued);
    ranges_.back().ticket = ++last_;
    works_.push_back(std::move(added));
}

const work* work_list::find(std::uint64_t ticket) const noexcept {
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
        if (ranges_[i].ticket == ticket) return &works_[i];
    }
    return nullptr;
}

void work_list::remove(std::uint64_t ticket) noexcept {
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
        if (ranges_[i].ticket == ticket) return remove_at(i);
    }
}

void work_list::forget_done() noexcept {
    for (std::size_t i = ranges_.size(); i-- > 0;) {
        try {
            if (works_[i].done.done()) remove_at(i);
        } catch (const std::exception&) {
        }
    }
}

void work_list::remove_at(std::size_t index) noexcept {
    ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(index));
    works_.erase(works_.begin() + static_cast<std::ptrdiff_t>(index));
}

}  // namespace unibuf::detail
