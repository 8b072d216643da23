// coherence/byte_ranges.cpp: a set of bytes, as ranges.
#include "coherence/byte_ranges.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "containers/room.hpp"

namespace unibuf {

byte_ranges::byte_ranges(byte_range only) {
    if (!only.empty()) all_.push_back(only);
}

byte_ranges byte_ranges::of(std::vector<byte_range> any) {
    if (!std::ranges::is_sorted(any, {}, &byte_range::begin)) std::ranges::sort(any, {}, &byte_range::begin);
    byte_ranges result;
    for (const byte_range& each : any) result.add(each);
    return result;
}

byte_ranges::iterator byte_ranges::from(std::size_t offset) const noexcept {
    return std::ranges::upper_bound(all_, offset, {}, &byte_range::end);
}

std::size_t byte_ranges::bytes_in(byte_range range) const noexcept {
    std::size_t result = 0;
    for (auto each = from(range.begin); each != end() && each->begin < range.end; ++each) {
        result += each->clipped_to(range).size();
    }
    return result;
}

byte_ranges byte_ranges::clipped_to(byte_range range) const {
    byte_ranges result;
    if (range.empty()) return result;
    for (auto each = from(range.begin); each != end() && each->begin < range.end; ++each) {
        result.all_.push_back(each->clipped_to(range));
    }
    return result;
}

void byte_ranges::add(byte_range range) {
    if (range.empty()) return;
    if (all_.empty() || all_.back().end < range.begin) {
        all_.push_back(range);
        return;
    }
    const auto first = std::ranges::lower_bound(all_, range.begin, {}, &byte_range::end);  // ranges that touch count
    auto last = first;
    for (; last != all_.end() && last->begin <= range.end; ++last) {
        range = {std::min(range.begin, last->begin), std::max(range.end, last->end)};
    }
    if (first == last) {
        all_.insert(first, range);
    } else {
        *first = range;
        all_.erase(first + 1, last);
    }
}

void byte_ranges::add(const byte_ranges& more) {
    if (more.count() == 1) return add(*more.begin());
    if (more.empty()) return;
    if (empty() || more.all_.front().begin >= all_.back().begin) {  // cheap at the end
        make_room(all_, more.count());
        for (const byte_range& each : more.all_) add(each);
        return;
    }
    std::vector<byte_range> merged;
    merged.reserve(count() + more.count());
    std::ranges::merge(all_, more.all_, std::back_inserter(merged), {}, &byte_range::begin, &byte_range::begin);
    *this = of(std::move(merged));
}

void byte_ranges::take_out(byte_range range) {
    if (range.empty()) return;
    const auto first = all_.begin() + (from(range.begin) - all_.cbegin());
    const auto last = std::lower_bound(first, all_.end(), range.end,
                                       [](const byte_range& each, std::size_t end) { return each.begin < end; });
    if (first == last) return;
    const byte_range head{first->begin, std::max(first->begin, range.begin)};
    const byte_range tail{std::min(std::prev(last)->end, range.end), std::prev(last)->end};
    if (!head.empty() && !tail.empty() && last - first == 1) {
        std::next(all_.insert(first, head))->begin = tail.begin;
        return;
    }
    auto gone = first;
    auto rest = last;
    if (!head.empty()) *gone++ = head;
    if (!tail.empty()) *--rest = tail;
    all_.erase(gone, rest);
    give_back(all_);
}

void byte_ranges::take_out(const byte_ranges& less) {
    if (less.count() == 1) return take_out(*less.begin());
    if (less.empty() || empty()) return;
    std::vector<byte_range> rest;
    auto gone = less.from(all_.front().begin);
    for (byte_range each : all_) {
        while (gone != less.end() && gone->end <= each.begin) ++gone;
        for (auto next = gone; next != less.end() && next->begin < each.end; ++next) {
            if (each.begin < next->begin) rest.push_back({each.begin, next->begin});
            each.begin = std::min(next->end, each.end);
        }
        if (!each.empty()) rest.push_back(each);
    }
    all_ = std::move(rest);
}

}  // namespace unibuf
