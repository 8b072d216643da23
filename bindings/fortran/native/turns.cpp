// turns.cpp
#include "turns.hpp"

#include <algorithm>
#include <unibuf/error.hpp>

namespace unibuf::fortran {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Until leases are looked at again: one may have begun after the last look.
constexpr std::chrono::nanoseconds first_wait = 1ms;
constexpr std::chrono::nanoseconds longest_wait = 64ms;

}  // namespace

void turns::turn_of_gpu(extent part, std::chrono::nanoseconds timeout) {
    if (!at_gpu()) return;
    const access what = whole_.options().access == host_access::write_only ? access::read : access::read_write;
    const std::size_t end = part.offset + part.bytes;
    const clock::time_point begin = clock::now();
    std::chrono::nanoseconds wait = first_wait;
    for (std::size_t at = part.offset; at < end;) {
        const extent next = next_not_leased(at, end);
        if (next.bytes == 0) return;
        const auto at_most = std::min(wait, timeout);
        try {
            whole_
                .acquire(gpu_.where, what,
                         {.offset = next.offset, .count = next.bytes, .timeout = at_most, .on = gpu_.on})
                .end();
            at = next.offset + next.bytes;
        } catch (const error& failure) {
            if (failure.code() != error_code::timeout || clock::now() - begin >= timeout) throw;
            wait = std::min(2 * wait, longest_wait);
        }
    }
}

extent turns::next_not_leased(std::size_t begin, std::size_t end) const {
    const std::lock_guard lock(mutex_);
    const auto covers = [&](const extent& of) { return of.offset <= begin && begin < of.offset + of.bytes; };
    for (auto found = std::ranges::find_if(leased_, covers); found != leased_.end();
         found = std::ranges::find_if(leased_, covers)) {
        begin = found->offset + found->bytes;
    }
    for (const extent& each : leased_) {
        if (each.offset >= begin) end = std::min(end, each.offset);
    }
    return {.offset = begin, .bytes = begin < end ? end - begin : 0};
}

void turns::lease_begins(extent part) {
    const std::lock_guard lock(mutex_);
    leased_.push_back(part);
}

void turns::lease_ends(extent part) noexcept {
    const std::lock_guard lock(mutex_);
    const auto same = [&](const extent& of) { return of.offset == part.offset && of.bytes == part.bytes; };
    leased_.erase(std::ranges::find_if(leased_, same));
}

void turns::pointer_given() noexcept {
    pointers_out_.store(true, std::memory_order_relaxed);
    turn_of_pointers();
}

void turns::take_back() noexcept {
    forget_reads({.offset = 0, .bytes = whole_.size_bytes()});
    shown_.fetch_sub(1, std::memory_order_release);
}

void turns::was_written(extent part) {
    forget_reads(part);
    turn_of_gpu(part);
    if (part.bytes == whole_.size_bytes()) turn_of_pointers_ended();
}

void turns::was_read(extent part) {
    if (!at_gpu() || !pointers_out_.load(std::memory_order_relaxed)) return;
    if (pointers_turn_.load(std::memory_order_relaxed)) return;
    const buffer_state state = whole_.state();
    if (state != buffer_state::host_dirty && state != buffer_state::mixed) return;
    turn_of_gpu(part);
    const std::lock_guard lock(mutex_);
    const std::size_t end = part.offset + part.bytes;
    std::erase_if(read_, [&](const extent& of) { return part.offset <= of.offset && of.offset + of.bytes <= end; });
    if (!read_.empty() && read_.back().offset + read_.back().bytes == part.offset) {
        read_.back().bytes += part.bytes;
    } else {
        read_.push_back(part);
    }
}

void turns::forget_reads(extent part) noexcept {
    const std::lock_guard lock(mutex_);
    const std::size_t end = part.offset + part.bytes;
    std::erase_if(read_, [&](const extent& of) { return part.offset < of.offset + of.bytes && of.offset < end; });
}

void turns::begin_with_pointers() {
    std::vector<extent> read;
    {
        const std::lock_guard lock(mutex_);
        read.swap(read_);
    }
    for (const extent& each : read) whole_.mark_host_dirty(each.offset, each.bytes);
    whole_turn_of_gpu();
    turn_of_pointers_ended();
}

}  // namespace unibuf::fortran
