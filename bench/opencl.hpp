// bench/opencl.hpp: the OpenCL driver's own call, as a program without the library makes it.
#pragma once

#include <cstddef>
#include <span>

#include <unibuf/opencl.hpp>

namespace bench::opencl {

/// clEnqueueWriteBuffer, blocking, to the first bytes of `to`. Throws std::runtime_error where it fails.
void write(_cl_command_queue* queue, _cl_mem* to, std::span<const std::byte> from);

}  // namespace bench::opencl
