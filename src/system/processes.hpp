// system/processes.hpp: what is asked of the operating system about processes and threads.
#pragma once

#include <cstdint>
#include <optional>

namespace unibuf::system {

/// Returns when a process began, in some unit of the system's; 0 where none of that number lives, and nothing where
/// that cannot be told, as for lack of descriptors.
std::optional<std::uint64_t> begin_of(std::uint32_t process);

/// Returns whether the calling thread is the one that the process began with.
bool is_main_thread() noexcept;

/// Gives the calling thread a name, of at most 15 characters, for debuggers and lists of threads.
void name_this_thread(const char* name) noexcept;

}  // namespace unibuf::system
