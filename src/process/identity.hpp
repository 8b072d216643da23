// process/identity.hpp: which process is meant, where numbers of processes come round.
#pragma once

#include <cstdint>

namespace unibuf::process {

/// A process, never taken for a later one of the same number: its number is the low half. 0 is none.
using identity = std::uint64_t;

identity this_process();
inline std::uint32_t number_of(identity process) noexcept { return static_cast<std::uint32_t>(process); }

/// Any value may be asked for.
bool is_alive(identity process);

}  // namespace unibuf::process
