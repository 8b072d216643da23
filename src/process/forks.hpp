// process/forks.hpp: whether a process still is the one that it was.
#pragma once

#include <atomic>

namespace unibuf::process {

/// Is what forks() returns, from its first call on; for those who have no time to call it.
inline constinit std::atomic<int> fork_count = 0;

/// Returns how often this process was forked off since the first call. What a driver or the kernel gave while this
/// number was another is never used again, not even to free it.
int forks() noexcept;

}  // namespace unibuf::process
