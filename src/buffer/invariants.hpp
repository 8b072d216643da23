// buffer/invariants.hpp: what debug builds check of a buffer after every operation.
#pragma once

#include <string>

#include "buffer/core.hpp"

namespace unibuf::detail {

/// Says which rule is broken, and aborts; returns where none is.
void check_invariants(const std::string& name, const guarded& state);

}  // namespace unibuf::detail
