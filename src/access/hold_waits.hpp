// access/hold_waits.hpp: waiting for the leases and the claims of other threads.
#pragma once

#include "access/access_request.hpp"
#include "access/lock.hpp"

namespace unibuf::detail {

/// Throws error(access_conflict) where `other`, a hold that excludes the access, is a lease of the calling thread, or a
/// claim of an access of this thread that is calling a holder now.
void check_not_own(const guarded& state, const access_request& request, const hold& other);

/// Throws error(access_conflict) where such a hold is there.
void check_not_own(core& of, const access_request& request);

/// Returns whether writers wait for bytes that the access would read, and this thread has no lease that they may be
/// waiting for: a new reader lets them in first, for a while.
bool writers_go_first(const guarded& state, const access_request& request) noexcept;

/// Waits until no hold excludes the access. Throws error(access_conflict) where a lease of the calling thread does,
/// and error(timeout). Debug builds print threads that wait for each other in a circle.
void wait_for_holds(lock& locked, const access_request& request);

}  // namespace unibuf::detail
