// system/mappings.hpp: what the process has mapped.
#pragma once

#include <cstddef>
#include <span>

namespace unibuf::system {

/// Returns whether all of the memory is in private mappings, which no other process writes. Costs a system call for
/// each mapping; on Linux before 6.11, and where it is forbidden, a reading of /proc/self/maps.
bool is_private(std::span<const std::byte> memory);

/// Returns whether all of it is in private mappings that can be read and written, and not executed. Costs as much.
bool is_private_data(std::span<const std::byte> memory);

}  // namespace unibuf::system
