// verbs/leases.hpp: how leases are granted and ended under the lock.
#pragma once

#include "access/access_request.hpp"
#include "access/lock.hpp"

namespace unibuf::detail {

/// Grants a lease. The bytes that it writes are newest at its space from then on.
byte_lease take_lease(core& of, const access_request& request);

/// Ends the lease `ticket` with work that goes on. Throws std::bad_alloc where the device does not queue work itself,
/// and the lease is held then: else room was made when it was taken.
void end_lease_with(core& of, std::uint64_t ticket, work left);

}  // namespace unibuf::detail
