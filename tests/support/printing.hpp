// support/printing.hpp: how tests print what they compare.
#pragma once

#include <ostream>

#include "unibuf/error.hpp"
#include "unibuf/space.hpp"
#include "unibuf/state.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf {

inline void PrintTo(buffer_state state, std::ostream* out) { *out << to_string(state); }
inline void PrintTo(error_code code, std::ostream* out) { *out << to_string(code); }
inline void PrintTo(cause why, std::ostream* out) { *out << to_string(why); }
inline void PrintTo(space where, std::ostream* out) { *out << where.name() << " #" << int{where.id()}; }

}  // namespace unibuf
