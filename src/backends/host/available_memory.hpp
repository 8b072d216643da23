// backends/host/available_memory.hpp: what the system can give to programs.
#pragma once

#include <cstdint>
#include <optional>

namespace unibuf::backends {

/// In bytes, without swapping; nothing where the system does not say.
std::optional<std::uint64_t> available_memory();

}  // namespace unibuf::backends
