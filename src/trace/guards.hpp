// trace/guards.hpp: what the guards of a thread say of a transfer.
#pragma once

#include "unibuf/guard.hpp"

namespace unibuf::trace {

/// Returns whether this thread has any.
bool is_guarded() noexcept;

/// Returns what the innermost of this thread's guards says that is about such a transfer.
guard_action guarded(space from, space to) noexcept;

}  // namespace unibuf::trace
