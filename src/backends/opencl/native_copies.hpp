// backends/opencl/native_copies.hpp: many copies as one command.
#pragma once

#include <span>

#include "backends/backend.hpp"
#include "backends/opencl/event.hpp"

namespace unibuf::backends::cl {

/// Whether `device` runs functions of this process as commands, as CPUs do.
bool runs_native_functions(cl_device_id device);

/// Puts a copy of `parts` between `memory` and the same places from `host` on, on the queue of such a device. A command
/// costs a CPU as much as to copy some pages, so that parts as small as those are better copied by one.
cl_int enqueue_copies(cl_command_queue queue, cl_mem memory, std::byte* host, std::span<const part> parts,
                      direction way, event& done);

/// The same of parts of different memories, which are allocations, each with its own place at the host.
cl_int enqueue_copies(cl_command_queue queue, std::span<const move_of> moves, direction way, event& done);

}  // namespace unibuf::backends::cl
