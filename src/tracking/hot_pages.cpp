// tracking/hot_pages.cpp
#include "tracking/hot_pages.hpp"

#include <algorithm>
#include <utility>

#include "system/pages.hpp"

namespace unibuf::tracking {

std::size_t hot_pages::most(std::size_t bytes) noexcept {
    constexpr std::size_t for_each = std::size_t{32} << 20;
    return 1 + std::min<std::size_t>(bytes / for_each, 7);
}

std::vector<byte_range> hot_pages::learn(byte_range range, std::span<const byte_range> found, std::size_t most) {
    std::vector<candidate> seen;
    std::size_t bytes = 0;
    for (const byte_range& each : found) bytes += each.size();
    if (bytes <= most * system::page_size()) {
        for (const byte_range& each : found) {
            for (std::size_t at = each.begin; at < each.end; at += system::page_size()) {
                seen.push_back({{at, std::min(at + system::page_size(), each.end)}, 1});
            }
        }
    }
    for (const candidate& before : candidates_) {
        const auto same = std::ranges::find(seen, before.bytes, &candidate::bytes);
        if (same != seen.end()) {
            same->times += before.times;
        } else if (!before.bytes.overlaps(range)) {
            seen.push_back(before);  // nobody has looked there now
        }
    }
    candidates_ = std::move(seen);
    std::vector<byte_range> result;
    const unsigned needed = scans_until_hot.load(std::memory_order_relaxed);
    for (const candidate& each : candidates_) {
        if (each.times >= needed && result.size() < most) result.push_back(each.bytes);
    }
    for (const byte_range& each : result) forget(each);
    return result;
}

void hot_pages::forget(byte_range range) noexcept {
    std::erase_if(candidates_, [&](const candidate& each) { return each.bytes.overlaps(range); });
}

}  // namespace unibuf::tracking
