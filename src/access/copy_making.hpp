// access/copy_making.hpp: copies are made with the lock let go, as drivers may take long, and others may have to go.
#pragma once

#include <functional>

#include "access/access_request.hpp"
#include "access/lock.hpp"

namespace unibuf::detail {

/// Waits until no thread makes a copy: it uses those that are there. Returns whether it had to wait.
bool wait_for_maker(lock& locked, const access_request& request);

/// Makes the copy at the space of the access where there is none. Returns true where the lock was let go meanwhile.
/// Throws error(out_of_memory), error(timeout), and what a backend throws.
bool make_copy(lock& locked, const access_request& request);

/// Gives the host's copy memory of its own in the place of what the space of the access has lent, and drops the copy
/// there. The access is of all bytes, and keeps others off them. `check` throws where that may not be, and is asked
/// whenever the lock was let go of. Where this throws, all is as before.
void end_lending(lock& locked, const access_request& request, const std::function<void()>& check);

/// Drops the copy at `where`, which is current elsewhere and has no work under way. Records that at `of_call`.
void drop_copy(guarded& state, space where, trace::moment& of_call);

}  // namespace unibuf::detail
