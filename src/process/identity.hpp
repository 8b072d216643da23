// process/identity.hpp: which process is meant, where numbers of processes come round.
#pragma once

#include <cstdint>

namespace unibuf::process {

/// An identity stands for one process, and never for a later one of the same number; that number is its low half. 0 is
/// no process.
using identity = std::uint64_t;

/// Throws error(unsupported) where the system does not tell, as where this process can open no file.
identity this_process();
inline std::uint32_t number_of(identity process) noexcept { return static_cast<std::uint32_t>(process); }

/// Returns whether the process lives, as far as that can be told. `process` may be any value.
bool is_alive(identity process);

}  // namespace unibuf::process
