// trace/counters.hpp: what all buffers together have moved.
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

}  // namespace unibuf::trace
