// trace/counters.hpp: what all buffers together have moved and hold.
#pragma once

#include <cstdint>

#include "unibuf/statistics.hpp"

namespace unibuf::trace {

inline constexpr std::size_t causes = static_cast<std::size_t>(cause::eviction) + 1;

// These count without a lock, so that different buffers do not contend.
void count_transfers(space from, space to, cause why, std::uint64_t transfers, std::uint64_t bytes) noexcept;
void count_publication() noexcept;
void count_fence_wait() noexcept;
void count_eviction() noexcept;

/// Returns the one observer, or null.
transfer_observer* observer() noexcept;

/// Counts bytes of memory as held in a space. Returns false, and counts nothing, where that would be more than its
/// limit. Once they have been allocated, keep_peak() counts them among the most that was held.
bool hold(space where, std::uint64_t bytes) noexcept;
void keep_peak(space where) noexcept;

/// Counts bytes of memory as held in a space, whatever the limit.
void hold_anyway(space where, std::uint64_t bytes) noexcept;
void let_go(space where, std::uint64_t bytes) noexcept;

void limit_memory(space where, std::uint64_t bytes) noexcept;

}  // namespace unibuf::trace
