// system/deadline.hpp: when a time from now is over.
#pragma once

#include <chrono>

namespace unibuf::system {

/// Returns the moment at which `time` from now is over; the last of all where it would lie behind that.
inline std::chrono::steady_clock::time_point deadline_after(std::chrono::nanoseconds time) noexcept {
    using moment = std::chrono::steady_clock::time_point;
    const moment now = std::chrono::steady_clock::now();
    return time > moment::max() - now ? moment::max() : now + time;
}

}  // namespace unibuf::system
