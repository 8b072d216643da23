// buffer/counts.hpp: counts what a buffer has moved.
#pragma once

#include <chrono>
#include <span>

#include "buffer/lock.hpp"
#include "coherence/plan.hpp"

namespace unibuf::detail {

/// Counts that the step `of` was carried out on the parts `moved`, and tells the observer of each. `arrived` says
/// whether the bytes are there.
void count_transfers(lock& through, const coherence::step& of, cause why, std::span<const region> moved,
                     std::chrono::steady_clock::time_point begin, std::chrono::steady_clock::time_point end,
                     bool arrived);

}  // namespace unibuf::detail
