// backends/spaces.hpp: the table of this process's spaces.
//
// Spaces are numbered as they are found. Devices stay until the process ends, so a reference to one never dangles; a
// number stays, too, unless the context that the program brought has gone: see give_back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "backends/backend.hpp"
#include "process/forks.hpp"
#include "unibuf/detail/gate.hpp"
#include "unibuf/space.hpp"

namespace unibuf::backends {

/// Returns whether the memory of a space is always the host's own.
inline bool is_host(space where) noexcept { return where == host || where == host_as_device; }

/// Returns how many spaces there are. Their ids begin at 0.
std::size_t count_of_spaces() noexcept;

/// Returns the device behind a space.
device& device_of(space where) noexcept;

/// Returns whether this process was forked off one that had found the space, and cannot use its driver.
bool was_left_behind(space where) noexcept;
inline bool is_left_behind(space where) noexcept {
    return process::fork_count.load(std::memory_order_relaxed) != 0 && was_left_behind(where);
}

[[noreturn]] void tell_left_behind(space where);

/// Is set as soon as some space is bound to the thread of its context: see device::check_here.
inline constinit std::atomic<bool> any_bound_to_threads = false;

/// Throws error(device_lost) where the space was left behind, and what device::check_here throws.
inline void check_usable(space where) {
    if (is_left_behind(where)) tell_left_behind(where);
    if (any_bound_to_threads.load(std::memory_order_relaxed)) device_of(where).check_here();
}

/// Returns what devices() tells of a space, without a look for others.
device_info info_of(space where);

/// Adds a space "<kind>:<next free index>", of a context that the caller owns or of a test's own device.
space add_space(std::string_view kind, std::unique_ptr<device> added);

/// Lets a later add_space give the number of `gone` to another space, with a name of its own. The caller knows that
/// nobody uses the space any more.
void give_back(space gone);

}  // namespace unibuf::backends
