// verbs/reuse.hpp: a buffer that a pool gives out again.
//
// The pool has the only handle that is of use meanwhile, so nothing but leases and eviction can happen.
#pragma once

#include <cstdint>

#include "buffer/core.hpp"

namespace unibuf::detail {

/// Ends the pointers and handles that the buffer gave out, and drops the content where nobody else has a handle.
/// Returns whether it did. Throws error(access_conflict) while it is leased, error(invalid_argument) where it is not of
/// this pool, or was released already.
bool recycle(core& of, std::uint64_t pool);

/// Drops the content and the names of a buffer of which views were held after its release: they may have written, named
/// and shared it. Returns false where nobody can have it for himself, as it lies in memory that processes share, or was
/// found by name.
bool forget_views(core& of);

/// Drops the content, and gives the buffer another size within its class.
void resize(core& of, std::size_t bytes);

}  // namespace unibuf::detail
