// access/waits.hpp: waiting for queued work, and what becomes of work that has failed.
#pragma once

#include <cstdint>
#include <vector>

#include "access/access_request.hpp"
#include "access/lock.hpp"

namespace unibuf::detail {

/// Waits for the queued work `ticket`, and forgets it. Throws error(timeout), and what the work failed with: then the
/// directory knows what is lost. Lets go of the lock.
void wait_for_work(lock& locked, const work_list::ticket& ticket, const wait_limit& limit);

/// Forgets the program's own events that have come, of the work that the access looks at. Lets go of the lock, as the
/// events are code of the program.
void forget_events(lock& locked, const access_request& request);

/// Waits for work of devices that write in the host's memory, before an access looks for writes of the program there,
/// which what such work writes would be taken for. An access that uses that memory itself waits for what it compares.
/// REQUIRES: pointers are out.
void wait_for_work_in_host_memory(lock& locked, const access_request& request);

/// Returns the tickets of work that writes in the host's memory, in units that the access looks at.
std::vector<work_list::ticket> work_in_host_memory(const guarded& state, const access_request& request);

/// Waits for all work of the space `where`, or, with `transfers_only`, for unibuf's own transfers there.
void wait_for_work_at(lock& locked, coherence::space_id where, bool transfers_only, const wait_limit& limit);

}  // namespace unibuf::detail
