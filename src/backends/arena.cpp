// backends/arena.cpp
#include "backends/arena.hpp"

#include <new>
#include <optional>
#include <utility>

#include "unibuf/error.hpp"

namespace unibuf::backends {

arena::arena(const measures& of, maker make, marker mark) : of_(of), make_(std::move(make)), mark_(std::move(mark)) {}

std::size_t arena::rounded(std::size_t bytes) const noexcept {
    return (bytes + of_.granule - 1) / of_.granule * of_.granule;
}

std::uintptr_t arena::allocate(std::size_t bytes) {
    bytes = rounded(bytes);
    const std::scoped_lock lock(mutex_);
    std::optional<std::uintptr_t> found = holes_.take(bytes);
    if (!found) {
        retire_freed();
        reclaim(false);
        found = holes_.take(bytes);
    }
    if (!found) {
        add_block_or_wait(bytes);
        found = holes_.take(bytes);
    }
    bytes_ += bytes;
    return *found;
}

void arena::free(std::uintptr_t address, std::size_t bytes) noexcept {
    const std::scoped_lock lock(mutex_);
    bytes_ -= rounded(bytes);
    try {
        freed_.push_back({address, rounded(bytes)});
    } catch (const std::bad_alloc&) {  // what cannot be noted is not used again
    }
}

bool arena::trim() {
    const std::scoped_lock lock(mutex_);
    retire_freed();
    reclaim(true);
    return drop_empty(0);
}

arena::usage arena::used() const {
    const std::scoped_lock lock(mutex_);
    return {.blocks = blocks_.size(), .block_bytes = blocks_.size() * of_.block, .bytes = bytes_};
}

/// Where no fence can be had now, as while a stream is being captured, the next call does it.
void arena::retire_freed() {
    if (freed_.empty()) return;
    try {
        retired_.push_back({mark_(), {}});
        retired_.back().ranges.swap(freed_);
    } catch (const error&) {
    }
}

void arena::reclaim(bool wait) {
    while (!retired_.empty()) {
        const retired& oldest = retired_.front();
        try {
            if (!oldest.until.wait(wait ? forever : std::chrono::nanoseconds::zero())) break;
        } catch (const error&) {  // work that has failed uses nothing any more
        }
        for (const range& each : oldest.ranges) holes_.give(each.begin, each.bytes);
        retired_.pop_front();
    }
    drop_empty(1);
}

/// Afterwards there is a hole for `bytes`.
void arena::add_block_or_wait(std::size_t bytes) {
    try {
        add_block();
    } catch (const error& failure) {
        if (failure.code() != error_code::out_of_memory) throw;
        reclaim(true);
        if (holes_.largest() < bytes) throw;
    }
}

void arena::add_block() {
    std::unique_ptr<block> made = make_(of_.block);
    const std::uintptr_t begin = made->address();
    const auto place = blocks_.emplace(begin, std::move(made)).first;
    try {
        holes_.add_block(begin, of_.block);
    } catch (...) {
        blocks_.erase(place);
        throw;
    }
}

bool arena::drop_empty(std::size_t kept) {
    const std::vector<std::uintptr_t> empty = holes_.remove_empty(kept);
    for (const std::uintptr_t each : empty) blocks_.erase(each);
    return !empty.empty();
}

}  // namespace unibuf::backends
