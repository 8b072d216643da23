// memory/usage.hpp: how much memory is held, the most that was, and the most that may be.
#pragma once

#include <atomic>
#include <cstdint>

#include "unibuf/space.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf::detail {

/// These functions may be called from any thread, and take no lock.
struct usage {
    std::atomic<std::uint64_t> held = 0;
    std::atomic<std::uint64_t> peak = 0;
    std::atomic<std::uint64_t> limit = no_memory_limit;

    /// Reserves `bytes`. Returns false, and reserves nothing, where that would be more than the limit.
    bool reserve(std::uint64_t bytes) noexcept {
        std::uint64_t seen = held.load(std::memory_order_relaxed);
        do {
            const std::uint64_t most = limit.load(std::memory_order_relaxed);
            if (bytes > most || seen > most - bytes) return false;
        } while (!held.compare_exchange_weak(seen, seen + bytes, std::memory_order_relaxed));
        return true;
    }
    void add(std::uint64_t bytes) noexcept {
        held.fetch_add(bytes, std::memory_order_relaxed);
        keep_peak();
    }
    /// Counts what is held now among what was: what was reserved is there.
    void keep_peak() noexcept {
        const std::uint64_t now = held.load(std::memory_order_relaxed);
        std::uint64_t seen = peak.load(std::memory_order_relaxed);
        while (seen < now && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
        }
    }
    /// Counts as the most that was held what is held now.
    void forget_peak() noexcept { peak.store(held.load(std::memory_order_relaxed), std::memory_order_relaxed); }
    void remove(std::uint64_t bytes) noexcept { held.fetch_sub(bytes, std::memory_order_relaxed); }
    memory_usage read() const noexcept {
        return {held.load(std::memory_order_relaxed), peak.load(std::memory_order_relaxed),
                limit.load(std::memory_order_relaxed)};
    }
};

// The memory that all buffers hold: in each space, and in all spaces together. Any thread; no lock is taken.

/// Counts bytes as held in a space. Returns false, and counts nothing, where that would be more than its limit. Once
/// they have been allocated, keep_peak_memory() counts them among the most that was held.
bool reserve_memory(space where, std::uint64_t bytes) noexcept;
void keep_peak_memory(space where) noexcept;

/// Counts bytes as held in a space, whatever the limit.
void add_memory(space where, std::uint64_t bytes) noexcept;

/// Counts bytes as held no more.
void remove_memory(space where, std::uint64_t bytes) noexcept;

void set_memory_limit(space where, std::uint64_t bytes) noexcept;

}  // namespace unibuf::detail
