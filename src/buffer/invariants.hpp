// buffer/invariants.hpp: what debug builds check of a buffer after every operation.
#pragma once

#include "buffer/core.hpp"

namespace unibuf::detail {

/// Says which rule is broken, and aborts; returns where none is. Allocates nothing then.
void check_invariants(const core& of, const guarded& state) noexcept;

}  // namespace unibuf::detail
