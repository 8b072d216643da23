// coherence/state.hpp: the one word for what a directory knows.
#pragma once

#include "coherence/directory.hpp"
#include "unibuf/state.hpp"

namespace unibuf::coherence {

/// Returns the state of a buffer. `allocated` are the spaces that have a copy.
buffer_state state_of(const directory& map, space_set allocated);

/// Returns why the directory breaks what always holds, or null. Debug builds ask after every operation.
const char* broken_rule(const directory& map, space_set allocated);

}  // namespace unibuf::coherence
