// access/standing.hpp: devices that may use bytes at any time, unseen.
//
// Bytes that such a device may write now are open at its space: it alone is current in them (coherence::open).
//
// What always holds:
//  1. Bytes are open only under a standing hold of that space, and while no exclusive hold elsewhere has them. If the
//     hold ended without memory to note its work, they stay open until the next access pauses them.
//  2. An access elsewhere pauses exactly the bytes that it asks for: what the device does with them is queued work from
//     then on, which the planner waits for as for any other.
//  3. Whenever the lock is let go of for good, the bytes that nobody holds and nobody has paused are open again. This
//     goes by the directory and the holds alone, so it does not matter how an access ended, and it never throws: bytes
//     that cannot be given back stay paused, and the next access to them, or resume, says why.
#pragma once

#include <cstdint>

#include "access/access_request.hpp"
#include "access/lock.hpp"
#include "unibuf/standing_hold.hpp"

namespace unibuf::detail {

class claim;

/// Begins a standing hold. Throws as an access does, and error(access_conflict) where another standing hold is in the
/// way.
unibuf::standing_hold begin_standing(core& of, const access_request& request, const standing_options& how);
void resume_standing(core& of, std::uint64_t ticket);
void pause_standing(core& of, std::uint64_t ticket);
void end_standing(core& of, std::uint64_t ticket) noexcept;

/// Makes the bytes that an access asks for quiet. `keep` keeps others off them where the lock has to be let go of.
void pause_elsewhere(lock& locked, const access_request& request, claim& keep);

/// Returns whether pause_elsewhere would ask a holder.
bool has_holders_to_ask(const guarded& state, const access_request& request);

/// Both keep the bytes of pointers to the copy at `where` from standing holds elsewhere, until the pointers end, or the
/// hold is resumed.
void pause_for_pointer(guarded& state, space where, const region& part);
void end_pause_of_pointers(guarded& state, space where, const region& part);

/// Notes that standing holds may have the bytes again that a view of the copy at `where`, which ends, has kept from
/// them.
void give_back_bytes_of(guarded& state, space where, const held_view& ended) noexcept;

/// Opens the bytes that nobody holds and nobody has paused, as rule 3 says.
void open_again(lock& locked) noexcept;

/// Throws the error that kept bytes of the access from being given back to a device. It is thrown once.
void check_not_broken(guarded& state, const access_request& request);

/// Throws error(access_conflict) where a standing hold has some of the bytes.
void check_no_standing(const guarded& state, const region& part, const char* verb);

}  // namespace unibuf::detail
