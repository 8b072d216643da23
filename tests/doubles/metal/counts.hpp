// doubles/metal/counts.hpp: failures to come, limits and counts: see control.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace metal_double {

/// Counts a call that may fail. Returns whether it fails.
bool call_fails();

/// Counts a command buffer. Returns the code that it fails with; 0 where it does not.
long work_fails();

/// Takes from what buffers of the device's own may have. Returns false where there is not as much.
bool take_memory(std::size_t bytes);
void give_memory(std::size_t bytes);
std::size_t memory_taken();
std::size_t memory_limit();

/// Returns whether buffers of pages come without memory.
bool are_pages_spoilt();

std::size_t count_objects(const char* name);

}  // namespace metal_double
