// bench/opencl.hpp: the OpenCL driver's own calls, as a program without the library makes them.
#pragma once

#include <cstddef>
#include <span>

#include <unibuf/opencl.hpp>

namespace bench::opencl {

/// clEnqueueWriteBuffer, blocking, to the first bytes of `to`. Throws std::runtime_error where it fails.
void write(_cl_command_queue* queue, _cl_mem* to, std::span<const std::byte> from);

/// clEnqueueReadBuffer, likewise.
void read(_cl_command_queue* queue, _cl_mem* from, std::span<std::byte> to);

}  // namespace bench::opencl
