// bench/opencl.hpp: the OpenCL driver's own calls, as a program without the library makes them.
#pragma once

#include <cstddef>
#include <span>

#include <unibuf/opencl.hpp>

namespace bench::opencl {

/// Calls clEnqueueWriteBuffer, blocking, to the first bytes of `to`. Throws std::runtime_error where it fails.
void write(_cl_command_queue* queue, _cl_mem* to, std::span<const std::byte> from);

/// Calls clEnqueueReadBuffer, blocking, from the first bytes of `from`. Throws std::runtime_error where it fails.
void read(_cl_command_queue* queue, _cl_mem* from, std::span<std::byte> to);

}  // namespace bench::opencl
