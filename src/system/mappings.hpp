// system/mappings.hpp: what the process has mapped.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace unibuf::system {

/// What is so of all mappings that some memory lies in.
struct common_traits {
    bool all_private = true;  // no other process writes them
    bool all_readable = true;
    bool all_writable = true;
    bool any_executable = false;

    /// Returns whether it is memory as malloc has it.
    bool is_data() const noexcept { return all_private && all_readable && all_writable && !any_executable; }
};

/// Looks the memory up. What is not mapped is neither private nor may it be read or written. Nothing where the system
/// does not say. Costs a system call for each mapping; on Linux before 6.11, and where that is forbidden, a reading of
/// /proc/self/maps.
std::optional<common_traits> mappings_of(std::span<const std::byte> memory);

/// Returns how many mappings a process may have, on Linux.
std::size_t most_mappings();

}  // namespace unibuf::system
