// buffer/invariants.hpp: what debug builds check of a buffer after every operation.
#pragma once

#include "buffer/core.hpp"

namespace unibuf::detail {

/// Says which rule is broken, and aborts. Where none is, it returns, and has allocated nothing.
void check_invariants(const core& of, const guarded& state) noexcept;

}  // namespace unibuf::detail
