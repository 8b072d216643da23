// trace/guards.hpp: what the guards of a thread say of a transfer.
#pragma once

#include <optional>

#include "unibuf/guard.hpp"

namespace unibuf::trace {

/// Returns whether this thread has any.
bool has_guard() noexcept;

/// Lets the transfers of this thread pass, as long as it lives: the program has asked for what is done. Of a thread
/// without guards it costs nothing.
class asked_by_name {
public:
    asked_by_name() {
        if (has_guard()) allows_.emplace(guard_action::allow);
    }

private:
    std::optional<transfer_guard> allows_;
};

/// Returns what the innermost of this thread's guards says that is about such a transfer.
guard_action guard_action_for(space from, space to) noexcept;

}  // namespace unibuf::trace
