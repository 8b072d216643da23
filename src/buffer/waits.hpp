// buffer/waits.hpp: waiting for queued work, and what becomes of work that has failed.
#pragma once

#include <cstdint>

#include "buffer/lock.hpp"

namespace unibuf::detail {

/// Waits for the queued work `ticket`, and forgets it. Throws error(timeout), and what the work failed with: then the
/// directory knows what is lost. Lets go of the lock.
void wait_for_work(lock& through, std::uint64_t ticket, clock::time_point deadline);

/// Waits for all work of the space `where`, or for unibuf's own transfers there.
void wait_for_work_at(lock& through, coherence::space_id where, bool transfers_only, clock::time_point deadline);

}  // namespace unibuf::detail
