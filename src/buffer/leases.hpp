// buffer/leases.hpp: the right to touch a range, from a grant to an end.
#pragma once

#include "buffer/lock.hpp"
#include "buffer/request.hpp"

namespace unibuf::detail {

/// Grants a lease. What it writes is newest at its space from now on, or from begin_lease on where that was asked for.
lease_bytes take_lease(core& of, const request& asked);
void begin_lease(core& of, const request& leased);

/// The work that the device was given until now, on `range` of its copy, is queued work from now on. It is not lost:
/// where the device cannot record it now, whoever needs the bytes next asks it again.
void queue_work_of(lock& through, space where, byte_range range, bool writes, queue on) noexcept;

}  // namespace unibuf::detail
