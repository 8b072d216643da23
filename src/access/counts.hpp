// access/counts.hpp: counts what a buffer has moved.
#pragma once

#include <chrono>
#include <span>

#include "access/lock.hpp"
#include "coherence/plan.hpp"

namespace unibuf::detail {

/// How a step was carried out.
struct carried_out {
    cause why = cause::read;
    queue on = {};
    std::chrono::steady_clock::time_point begin{};
    std::chrono::steady_clock::time_point end{};
    bool arrived = false;                // the bytes are there
    const std::byte* program = nullptr;  // where the bytes lie one behind the other, if not in the host's copy
};

/// Counts that the step `of` was carried out on the parts `moved`, and tells the observer of each. Without memory for a
/// first count of its own, the buffer's lacks them; the count of all buffers has them.
void count_transfers(lock& locked, const coherence::step& of, std::span<const region> moved,
                     const carried_out& how) noexcept;

}  // namespace unibuf::detail
