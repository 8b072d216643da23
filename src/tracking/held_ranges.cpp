// tracking/held_ranges.cpp: counts of holders, piece by piece.
#include "tracking/held_ranges.hpp"

#include <algorithm>
#include <iterator>

namespace unibuf::detail {

/// Notes that one more range has an end at `offset`, and returns that end.
coverage::all_ends::iterator coverage::use(std::size_t offset) {
    const auto [at, is_new] = ends_.try_emplace(offset);
    if (is_new && at != ends_.begin()) at->second.holders = std::prev(at)->second.holders;
    ++at->second.uses;
    return at;
}

/// Notes that one range less has an end at `offset`. Where no range ends, holders are the same as before it.
void coverage::leave(std::size_t offset) noexcept {
    const auto at = ends_.find(offset);
    if (--at->second.uses == 0) ends_.erase(at);
}

void coverage::add(byte_range range) {
    if (range.empty()) return;
    auto each = use(range.begin);
    try {
        for (const auto last = use(range.end); each != last; ++each) ++each->second.holders;
    } catch (...) {
        leave(range.begin);
        throw;
    }
}

void coverage::remove(byte_range range) noexcept {
    if (range.empty()) return;
    for (auto each = ends_.find(range.begin); each->first != range.end; ++each) --each->second.holders;
    leave(range.begin);
    leave(range.end);
}

bool coverage::any(byte_range range) const noexcept {
    if (range.empty()) return false;
    auto piece = ends_.upper_bound(range.begin);
    if (piece != ends_.begin() && std::prev(piece)->second.holders != 0) return true;
    for (; piece != ends_.end() && piece->first < range.end; ++piece) {
        if (piece->second.holders != 0) return true;
    }
    return false;
}

void coverage::collect(byte_range range, byte_ranges& to) const {
    auto piece = ends_.upper_bound(range.begin);
    if (piece != ends_.begin()) --piece;
    for (; piece != ends_.end() && piece->first < range.end; ++piece) {
        const auto next = std::next(piece);
        if (piece->second.holders != 0) to.add(byte_range{piece->first, next->first}.clipped_to(range));
    }
}

void held_ranges::end_view_of_box(std::uint64_t number) noexcept {
    std::erase_if(boxes_, [&](const view_of_box& each) { return each.number == number; });
}

bool held_ranges::any(const region& part) const noexcept {
    bool pointed = false;
    if (any_pointer()) part.for_each_run([&](byte_range run) { pointed |= pointers_.bytes_in(run) != 0; });
    return pointed || any_view(part);
}

bool held_ranges::any_view(const region& part) const noexcept {
    bool result = std::ranges::any_of(boxes_, [&](const view_of_box& each) { return each.part.overlaps(part); });
    if (views_.any()) part.for_each_run([&](byte_range run) { result |= views_.any(run); });
    return result;
}

byte_ranges held_ranges::of(byte_range range) const {
    byte_ranges result = pointers_.clipped_to(range);
    views_.collect(range, result);
    for (const view_of_box& each : boxes_) result.add(runs_of(each.part, range));
    return result;
}

}  // namespace unibuf::detail
