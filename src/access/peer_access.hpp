// access/peer_access.hpp: accesses to a buffer whose host copy other processes have too.
//
// Which process holds the newest content is decided in process/peers.hpp. An access asks it before anything moves, and
// whenever the lock is let go for good it is told what this process still has newer.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "access/access_request.hpp"
#include "access/lock.hpp"
#include "process/shared_memory.hpp"
#include "unibuf/state.hpp"

namespace unibuf::detail {

/// Makes memory that another process shares the host's copy of a buffer that nobody knows yet.
void attach_memory(core& of, const std::shared_ptr<process::shared_memory>& memory);

/// Moves the host's copy into memory that processes share, where it does not lie there already. Throws what an access
/// throws, and error(access_conflict) while pointers, handles or views are out.
std::shared_ptr<process::shared_memory> share_memory(core& of, std::string_view description);

/// Throws where another process has newer content, and tells the directory what others may have written. It is called
/// when nobody excludes the access any more, and nothing has moved yet.
void follow_peers(guarded& state, const access_request& request);

/// Tells the other processes what this one still has newer, when the lock is let go for good.
void tell_peers(guarded& state) noexcept;

/// Gives the other processes what a device here has newer, when the last handle has gone.
void leave_peers(core& of) noexcept;

/// Drops what devices of this process have newer, where it is not the holder: that has been overruled.
void drop_overruled(guarded& state);

buffer_state state_among_peers(guarded& state);

}  // namespace unibuf::detail
