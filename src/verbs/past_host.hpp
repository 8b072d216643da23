// verbs/past_host.hpp: copies between the program's memory and the copy of a device, which do not go by the host's
// copy.
#pragma once

#include "access/access_request.hpp"
#include "access/lock.hpp"

namespace unibuf::detail {

/// Copies the part that was asked for out of the copy at the space that was, or into it. The program's bytes lie one
/// behind the other. Returns false where that space has no memory of its own, and nothing was done: the bytes lie at
/// the host then. Returns when the copy is made.
bool copy_out(core& of, const access_request& request, std::byte* to);
bool copy_in(core& of, const access_request& request, const std::byte* from);

/// Returns a space where all of `part` is current: the host where it is one, and where there is none.
space current_at(core& of, const region& part);

/// Returns where to copy a value from: current_at(), but the host from the second time on, until the buffer is written.
space place_of_value(core& of, const region& part);

}  // namespace unibuf::detail
