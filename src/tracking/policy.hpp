// tracking/policy.hpp: which parts of a buffer are watched, and which are simply taken for written. Pure.
//
// Watching costs a fault for each page that is written. A part that is rewritten whole again and again is cheaper to
// take for written; now and then it is tried whether that still holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coherence/directory.hpp"

namespace unibuf::tracking {

/// A part of the memory that is decided on as one: a huge page of most machines.
inline constexpr std::size_t part_bytes = std::size_t{2} << 20;

/// What is remembered of one part.
struct part_history {
    std::uint8_t dense_rounds = 0;  // in a row, watched
    std::uint8_t left = 0;          // rounds in which it is not watched
    std::uint8_t next_pause = 0;    // how many that will be the next time; 0 before the first
};

/// A round is an access elsewhere. Whether the part is to be watched until the next one, where it `was_watched` until
/// this one and `written` of its `units` were found written.
bool watch_next(part_history& of, bool was_watched, std::size_t written, std::size_t units) noexcept;

/// Of a pointer that is given out, and of the host's copy that it is into.
struct new_pointer {
    bool found = false;         // writes can be found here at all
    bool compares = false;      // by comparing contents
    bool values_known = false;  // bytes that nobody has written are zero
    bool was_used = false;      // the memory belonged to a buffer before, of a pool
    bool untouched = false;     // nobody has written the memory since it was allocated, and it was zero then
};

/// What is known from now on of writes to bytes that had no pointer yet.
coherence::pointers exposure_of(const coherence::knowledge& k, const new_pointer& given) noexcept;

}  // namespace unibuf::tracking
