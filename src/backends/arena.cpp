// backends/arena.cpp: small allocations from large blocks, so that many of them do not cost as many calls of a driver.
#include "backends/arena.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "backends/poll.hpp"
#include "system/deadline.hpp"
#include "unibuf/detail/sizes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

// The wait for work to end that uses what was freed, where a driver has no more memory.
constexpr std::chrono::seconds patience(1);

}  // namespace

arena::arena(const measures& of, maker make, marker mark) : of_(of), make_(std::move(make)), mark_(std::move(mark)) {}

std::size_t arena::rounded(std::size_t bytes) const noexcept { return detail::rounded_up(bytes, of_.granule); }

arena::place arena::allocate(std::size_t bytes) {
    bytes = rounded(bytes);
    for (const auto deadline = clock::now() + patience;;) {
        {
            const std::scoped_lock lock(mutex_);
            if (const auto found = take(bytes)) return *found;
        }
        try {
            add(make_(of_.block));
        } catch (const error& failure) {
            if (failure.code() != error_code::out_of_memory) throw;
            if (!ask_for_fence() && !wait_for_oldest(deadline)) throw;
        }
    }
}

std::optional<arena::place> arena::take(std::size_t bytes) {
    std::optional<std::uintptr_t> found = holes_.take(bytes);
    if (!found) {
        reclaim();
        found = holes_.take(bytes);
    }
    if (!found) return std::nullopt;
    bytes_ += bytes;
    return place{*found, std::prev(blocks_.upper_bound(*found))->first};
}

void arena::free(std::uintptr_t address, std::size_t bytes, bool in_use) noexcept {
    const range freed{address, rounded(bytes)};
    const std::scoped_lock lock(mutex_);
    bytes_ -= freed.bytes;
    if (!in_use) return give(freed);
    try {
        freed_.push_back(freed);
    } catch (const std::bad_alloc&) {  // what cannot be noted is not used again
    }
}

void arena::give(const range& unused) noexcept {
    try {
        holes_.give(unused.begin, unused.bytes);
        drop_empty(1);
    } catch (const std::bad_alloc&) {  // what cannot be noted is not used again
    }
}

bool arena::trim(std::chrono::nanoseconds timeout) {
    const auto deadline = system::deadline_after(timeout);
    ask_for_fence();
    while (wait_for_oldest(deadline)) {
        const std::scoped_lock lock(mutex_);
        reclaim();
    }
    const std::scoped_lock lock(mutex_);
    return drop_empty(0);
}

arena::usage arena::used() const {
    const std::scoped_lock lock(mutex_);
    return {.block_bytes = blocks_.size() * of_.block, .bytes = bytes_};
}

void arena::begin_fence() noexcept {
    const std::scoped_lock lock(mutex_);
    if (freed_before_fence_.empty()) return freed_before_fence_.swap(freed_);
    try {
        freed_before_fence_.insert(freed_before_fence_.end(), freed_.begin(), freed_.end());
        freed_.clear();
    } catch (const std::bad_alloc&) {  // the next fence does it
    }
}

void arena::end_fence(const fence& all) noexcept {
    const std::scoped_lock lock(mutex_);
    if (freed_before_fence_.empty()) return;
    try {
        retired_.push_back({all, {}});
        retired_.back().ranges.swap(freed_before_fence_);
    } catch (const std::bad_alloc&) {  // the next fence does it
    }
}

/// Asks for a fence behind what was freed. Returns false where nothing was, or none can be had now, as while a stream
/// is being captured.
bool arena::ask_for_fence() {
    {
        const std::scoped_lock lock(mutex_);
        if (freed_.empty() && freed_before_fence_.empty()) return false;
    }
    try {
        mark_();
    } catch (const error&) {
        return false;
    }
    return true;
}

/// Makes holes of what no work uses any more.
void arena::reclaim() {
    for (; !retired_.empty() && is_over(retired_.front().until); retired_.pop_front()) {
        std::vector<range>& ranges = retired_.front().ranges;
        for (const range& each : ranges) give(each);
    }
}

/// Waits without the lock, so that others can free. Returns false where there is nothing to wait for, or no time.
bool arena::wait_for_oldest(clock::time_point deadline) {
    fence oldest;
    {
        const std::scoped_lock lock(mutex_);
        if (retired_.empty()) return false;
        oldest = retired_.front().until;
    }
    if (deadline == clock::time_point::max()) return is_over(oldest, forever);
    return is_over(oldest, std::max<clock::duration>(deadline - clock::now(), clock::duration::zero()));
}

void arena::add(std::unique_ptr<block> made) {
    const std::scoped_lock lock(mutex_);
    const std::uintptr_t begin = made->address();
    const auto entry = blocks_.emplace(begin, std::move(made)).first;
    try {
        holes_.add_block(begin, of_.block);
    } catch (...) {
        blocks_.erase(entry);
        throw;
    }
}

bool arena::drop_empty(std::size_t kept) {
    const std::vector<std::uintptr_t> empty = holes_.remove_empty(kept);
    for (const std::uintptr_t each : empty) blocks_.erase(each);
    return !empty.empty();
}

}  // namespace unibuf::backends
