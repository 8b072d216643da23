// backends/host/available_memory.hpp: what of the machine's memory this process may have.
#pragma once

#include <cstdint>
#include <string>

#include "unibuf/space.hpp"

namespace unibuf::backends {

struct available {
    memory_info memory;  // `free` is what can be had without swapping, and without being slowed down
    std::string cgroup;  // the cgroup whose limit the total is; empty where the total is the machine's
};

/// Returns what is available now. It reads files that the system makes at each call.
available available_memory();

/// Returns `machine`, within the memory limits of the cgroups that this process is in, of version 2 or 1: the least
/// wins. In the folder `root` are "proc" and "sys"; an empty name stands for the system's. What is missing there, or
/// makes no sense, limits nothing.
available within_cgroups(const memory_info& machine, const std::string& root);

/// Returns how many bytes the host can give at all, also by swapping; the largest number where it does not say.
/// Software drivers take what is asked and write to it at once: past this the system would end the process. `root` is
/// as above.
std::uint64_t host_memory_left(const std::string& root = "");

}  // namespace unibuf::backends
