// backends/holes.cpp: finds, gives out and joins the free ranges in the blocks of an arena.
#include "backends/holes.hpp"

#include <algorithm>
#include <iterator>

namespace unibuf::backends {

void holes::add_block(std::uintptr_t begin, std::size_t bytes) {
    blocks_.emplace(begin, bytes);
    least_block_ = std::min(least_block_, bytes);
    add(begin, bytes);
}

std::vector<std::uintptr_t> holes::remove_empty(std::size_t kept) {
    std::vector<std::uintptr_t> removed;
    for (auto hole = by_size_.lower_bound({least_block_, 0}); hole != by_size_.end(); ++hole) {
        const auto block = blocks_.find(hole->second);
        if (block == blocks_.end() || block->second != hole->first) continue;
        if (kept == 0) {
            removed.push_back(block->first);
        } else {
            --kept;
        }
    }
    for (const std::uintptr_t each : removed) {
        remove(by_place_.find(each));
        blocks_.erase(each);
    }
    return removed;
}

std::optional<std::uintptr_t> holes::take(std::size_t bytes) {
    const auto fitting = by_size_.lower_bound({bytes, 0});
    if (fitting == by_size_.end()) return std::nullopt;
    const auto [size, begin] = *fitting;
    remove(by_place_.find(begin));
    if (size > bytes) add(begin + bytes, size - bytes);
    return begin;
}

void holes::give(std::uintptr_t begin, std::size_t bytes) {
    const auto block = std::prev(blocks_.upper_bound(begin));
    std::uintptr_t end = begin + bytes;
    const auto after = by_place_.find(end);
    if (after != by_place_.end() && end < block->first + block->second) {
        end += after->second;
        remove(after);
    }
    if (begin > block->first) {
        const auto behind = by_place_.lower_bound(begin);
        if (behind != by_place_.begin()) {
            const auto before = std::prev(behind);
            if (before->first + before->second == begin) {
                begin = before->first;
                remove(before);
            }
        }
    }
    add(begin, end - begin);
}

void holes::add(std::uintptr_t begin, std::size_t bytes) {
    const auto place = by_place_.emplace(begin, bytes).first;
    try {
        by_size_.emplace(bytes, begin);
    } catch (...) {
        by_place_.erase(place);
        throw;
    }
}

void holes::remove(places::iterator hole) {
    by_size_.erase({hole->second, hole->first});
    by_place_.erase(hole);
}

}  // namespace unibuf::backends
