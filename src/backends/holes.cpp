// backends/holes.cpp
#include "backends/holes.hpp"

#include <iterator>

namespace unibuf::backends {

void holes::add_block(std::uintptr_t begin, std::size_t bytes) {
    blocks_.emplace(begin, bytes);
    add(begin, bytes);
}

std::vector<std::uintptr_t> holes::remove_empty(std::size_t kept) {
    std::vector<std::uintptr_t> removed;
    for (auto block = blocks_.begin(); block != blocks_.end();) {
        const auto hole = by_place_.find(block->first);
        const bool empty = hole != by_place_.end() && hole->second == block->second;
        if (!empty || kept != 0) {
            if (empty) --kept;
            ++block;
            continue;
        }
        removed.push_back(block->first);
        remove(hole);
        block = blocks_.erase(block);
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
