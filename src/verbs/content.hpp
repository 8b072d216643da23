// verbs/content.hpp: the verbs of a buffer beside its leases. Those that need content make a request
// (access/passage.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "access/access_request.hpp"
#include "access/lock.hpp"

namespace unibuf::detail {

/// Makes the space current, and leaves no hold behind: a sync, or a prefetch.
void bring(core& of, const access_request& request);

/// Notes that the program has written the part at the space.
void mark(core& of, access_request request);
void fill(core& of, const region& part, std::span<const std::byte> pattern, std::optional<space> where);

/// Writes at the host, in one go.
void put(core& of, const region& part, const std::byte* from);

void discard(core& of, space where, const region& part);
void discard_content(core& of, const region& part);

}  // namespace unibuf::detail
