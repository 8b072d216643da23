// buffer/standing.hpp: devices that may use bytes at any time, unseen.
//
// Bytes that such a device may write now are open at its space: it alone is current in them (coherence::open). What
// holds:
//  1. Bytes are open only under a standing hold of that space, and while no exclusive hold has them.
//  2. An access elsewhere pauses exactly the bytes that it asks for: their work is queued work from then on, which the
//     planner waits for as for any other.
//  3. Whenever the lock is let go for good, the bytes that nobody holds and nobody has paused are open again. This goes
//     by the directory alone, so it does not matter by which way an access ended, and it never throws: where bytes
//     cannot be given back, they stay paused, and the next access of them and resume say why.
#pragma once

#include <cstdint>

#include "buffer/lock.hpp"
#include "buffer/request.hpp"
#include "unibuf/standing_hold.hpp"

namespace unibuf::detail {

class claim;

/// Throws as an access does, and error(access_conflict) where another standing hold is in the way.
unibuf::standing_hold begin_standing(core& of, const request& asked, const standing_options& how);
void resume_standing(core& of, std::uint64_t ticket);
void pause_standing(core& of, std::uint64_t ticket);
void end_standing(core& of, std::uint64_t ticket) noexcept;

/// Makes the bytes that an access asks for quiet. `keep` keeps others off them when the lock has to be let go for that.
void pause_elsewhere(lock& through, const request& asked, claim& keep);

/// A pointer to the copy at `where`, or a view of it, goes out: its bytes stay current there until it ends, or the
/// other's hold is resumed. What pause_for_view gives, its end is told.
void pause_for_pointer(lock& through, space where, byte_range range);
std::uint64_t pause_for_view(lock& through, space where, byte_range range);
void end_pause_of_pointers(lock& through, space where, byte_range range);
void end_pause_of_view(lock& through, space where, byte_range range, std::uint64_t shown) noexcept;

/// See rule 3.
void open_again(lock& through) noexcept;

/// Throws what kept bytes of the access from being given back, once.
void check_not_broken(lock& through, const request& asked);

/// Throws error(access_conflict) where a standing hold has some of the range.
void check_no_standing(lock& through, byte_range range, const char* verb);

}  // namespace unibuf::detail
