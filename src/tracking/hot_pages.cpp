// tracking/hot_pages.cpp: which pages are written again and again.
#include "tracking/hot_pages.hpp"

#include <algorithm>
#include <iterator>

#include "system/pages.hpp"

namespace unibuf::tracking {

std::size_t hot_pages::most(std::size_t bytes) noexcept {
    constexpr std::size_t for_each = std::size_t{32} << 20;
    return 1 + std::min<std::size_t>(bytes / for_each, 7);
}

std::vector<byte_range> hot_pages::learn(byte_range range, std::span<const byte_range> found, const units& pages,
                                         std::size_t most) {
    const std::size_t page = system::page_size();
    std::size_t bytes = 0;
    for (const byte_range& each : found) bytes += each.size();
    if (bytes > most * page) found = {};
    // What was not found now begins anew.
    const auto is_found = [&](const candidates::value_type& of) {
        return std::ranges::any_of(found, [&](byte_range each) { return each.contains({of.first, of.second.end}); });
    };
    const auto first = first_behind(candidates_, range.begin, &candidate::end);
    for (auto each = first; each != candidates_.end() && each->first < range.end;) {
        each = is_found(*each) ? std::next(each) : candidates_.erase(each);
    }
    std::vector<byte_range> result;
    const unsigned needed = scans_until_hot.load(std::memory_order_relaxed);
    for (const byte_range& each : found) {
        byte_range one = pages.of(each.begin);
        for (; one.begin < each.end; one = {one.end, std::min(one.end + pages.each, each.end)}) {
            candidate& known = candidates_[one.begin];
            known.end = one.end;
            if (++known.times >= needed && result.size() < most) result.push_back(one);
        }
    }
    for (const byte_range& each : result) forget(each);
    return result;
}

void hot_pages::forget(byte_range range) noexcept {
    const auto first = first_behind(candidates_, range.begin, &candidate::end);
    for (auto each = first; each != candidates_.end() && each->first < range.end;) {
        each = candidates_.erase(each);
    }
}

}  // namespace unibuf::tracking
