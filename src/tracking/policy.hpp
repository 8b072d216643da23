// tracking/policy.hpp: which sections of a buffer are watched, and which are simply taken for written. Pure.
//
// Watching costs a fault for each page that is written. A section that is rewritten whole again and again is cheaper to
// take for written; now and then it is tried whether that still holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "coherence/directory.hpp"

namespace unibuf::tracking {

/// A section of the memory, which is decided on as one: a huge page of most machines.
inline constexpr std::size_t section_bytes = std::size_t{2} << 20;

/// The history of one section.
struct section_history {
    std::uint8_t dense_rounds = 0;  // rounds in a row in which the section was watched, and mostly written
    std::uint8_t rounds_left = 0;   // in which the section is not watched yet
    std::uint8_t next_pause = 0;    // value of `rounds_left` the next time; 0 before the first
};

/// Returns whether the section is to be watched until the next round; a round is an access elsewhere. The section
/// `was_watched` in this round, or was not, and so many of its bytes were found written.
bool watch_next(section_history& of, bool was_watched, std::size_t written, std::size_t bytes) noexcept;

/// Does so where it is known whether it was `in_vain` to watch it in this round.
bool watch_next(section_history& of, bool was_watched, bool in_vain) noexcept;

/// The sections of a memory, and their histories.
class sections {
public:
    sections() = default;
    explicit sections(std::size_t bytes) : all_(bytes / section_bytes + 1) {}

    /// Returns the history of the section that `part` lies in.
    section_history& of(byte_range part) noexcept { return all_[part.begin / section_bytes]; }

    /// Notes that all of `range` was watched, and that nothing outside of `written` was written. Returns the bytes of
    /// sections whose histories go on: those between the first byte that was written and the last.
    byte_range begin_anew_beside(byte_range written, byte_range range) noexcept;

    /// Calls visit(byte_range) for the bytes of `range` in each section.
    template <class Visit>
    static void for_each(byte_range range, const Visit& visit) {
        for (byte_range each = range; each.begin < range.end; each.begin = each.end) {
            each.end = std::min(range.end, (each.begin / section_bytes + 1) * section_bytes);
            visit(each);
        }
    }

private:
    std::vector<section_history> all_;
};

/// The facts about a pointer that is given out, and about the host's copy that it is into.
struct new_pointer {
    bool finds_writes = false;  // writes can be found here at all
    bool compares = false;      // writes are found by comparing contents
    bool values_known = false;  // bytes that nobody has written are zero
    bool was_used = false;      // the memory belonged to another buffer of a pool before
    bool untouched = false;     // nobody has written the memory since it was allocated, and it was zero then
};

/// Returns what is known from now on of writes to bytes that had no pointer yet.
coherence::pointers exposure_of(const coherence::knowledge& k, const new_pointer& given) noexcept;

}  // namespace unibuf::tracking
