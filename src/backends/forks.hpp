// backends/forks.hpp: whether a process still is the one that loaded a driver.
#pragma once

namespace unibuf::backends {

/// How often this process was forked off since the first call. A driver's threads stay with the parent: what it gave
/// while this number was another is never used again, not even to free it.
int forks() noexcept;

}  // namespace unibuf::backends
