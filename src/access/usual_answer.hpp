// access/usual_answer.hpp: what most accesses are answered, found at a glance: there is nothing to do, or to wait for.
#pragma once

#include "access/access_request.hpp"
#include "access/lock.hpp"

namespace unibuf::detail {

/// Returns whether the bytes may be used as they are: a passage would find nothing to do.
bool is_free_and_current(const guarded& state, const access_request& request);

/// Notes that such an access begins to use its bytes: a copy may show poison where nobody has used it before.
void begin_to_use(guarded& state, const access_request& request);

/// Returns whether all steps of the access are behind all queued work. Steps in memory that others use, too, are not
/// put on its queue.
bool steps_are_behind(const guarded& state, const access_request& request) noexcept;

}  // namespace unibuf::detail
