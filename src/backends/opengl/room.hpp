// backends/opengl/room.hpp: how much memory the host can still give.
#pragma once

#include <cstdint>
#include <string>

namespace unibuf::backends {

/// Returns how many bytes the host can give without touching what it has given; the largest number where it does not
/// say. Software drivers take what is asked and write to it at once: past this the system would end the process. `root`
/// is where the system's files are.
std::uint64_t host_memory_left(const std::string& root = "");

}  // namespace unibuf::backends
