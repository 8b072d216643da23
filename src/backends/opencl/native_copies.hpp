// backends/opencl/native_copies.hpp: many copies as one command.
#pragma once

#include <span>

#include "backends/backend.hpp"
#include "backends/opencl/event.hpp"

namespace unibuf::backends::cl {

/// Returns whether `device` runs functions of this process as commands, as CPUs do.
bool runs_native_functions(cl_device_id device);

/// Puts a copy of `parts` between `memory` and the same places from `host` on, on the queue of a device that runs
/// native functions. A command costs a CPU as much as to copy some pages, so small parts are better copied by one
/// command.
cl_int enqueue_copies(cl_command_queue queue, cl_mem memory, std::byte* host, std::span<const part> parts,
                      direction way, event& done);

/// Puts a copy of rows between `memory`, `here`, and the host, on such a queue.
cl_int enqueue_copies(cl_command_queue queue, cl_mem memory, std::byte* host, const rectangle_copy& rows, direction way,
                      event& done);

/// Puts copies of parts of different memories, which are allocations, on such a queue. Each part has its own place at
/// the host.
cl_int enqueue_copies(cl_command_queue queue, std::span<const move_of> moves, direction way, event& done);

}  // namespace unibuf::backends::cl
