// process/only_library.hpp: one unibuf for all parts of a process.
#pragma once

namespace unibuf::process {

/// Throws error(unsupported) where another libunibuf was loaded before this one. Each has names, limits and watched
/// pages of its own, so that parts of one program would not see each other's buffers.
void refuse_second_library();

}  // namespace unibuf::process
