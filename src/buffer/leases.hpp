// buffer/leases.hpp: the right to touch a range, from a grant to an end.
#pragma once

#include "buffer/lock.hpp"
#include "buffer/request.hpp"

namespace unibuf::detail {

/// Grants a lease. What it writes is newest at its space from now on, or from begin_lease on where that was asked for.
lease_bytes take_lease(core& of, const request& asked);
void begin_lease(core& of, const request& leased);

// Before several leases are taken at once, so that a call that is refused has moved nothing. Both throw
// error(access_conflict): where two requests exclude each other, and where a lease of this thread, or what the bytes
// are, excludes one.
void check_apart(const core& of, const request& one, const request& other);
void check_before_lease(core& of, const request& asked);

/// Ends the lease `ticket` with work that goes on until `done`. Throws std::bad_alloc, and the lease is held then.
void end_lease_with(core& of, std::uint64_t ticket, fence done);

/// Makes room for the queued work of one more lease at `where`, and of all that are held: their ends need no memory.
void reserve_queued_work(lock& through, space where);

/// The work that the device was given until now, on `range` of its copy, is queued work from now on. It is not lost:
/// where the device cannot record it now, whoever needs the bytes next asks it again.
void queue_work_of(lock& through, space where, byte_range range, bool writes, queue on) noexcept;

}  // namespace unibuf::detail
