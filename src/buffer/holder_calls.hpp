// buffer/holder_calls.hpp: what is asked of those who have a standing hold: to pause, and to go on.
//
// One thread at a time calls them, with the lock let go. The hold may end meanwhile: what its holder gave lives until
// the call has returned. In their functions holders use none of the bytes: they would wait for themselves.
#pragma once

#include <cstdint>

#include "buffer/claim.hpp"
#include "buffer/lock.hpp"
#include "buffer/request.hpp"

namespace unibuf::detail {

/// Asks the holder to pause, unless it has. `keep` keeps others off the bytes meanwhile. Throws what the holder throws,
/// and error(timeout) where it is called for others for too long.
void ask_to_pause(lock& through, std::uint64_t ticket, const request& asked, claim& keep);

/// Tells a holder that has paused to go on. Throws what it throws.
void tell_to_resume(lock& through, std::uint64_t ticket);

}  // namespace unibuf::detail
