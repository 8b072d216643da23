// support/real_device.hpp: what a program does with memory of debug, Metal, OpenCL and OpenGL devices by their own
// APIs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "unibuf/options.hpp"

namespace unibuf::test {

// These functions wait until their work is done. `at` is what native() of a lease, or device(), gave.

void device_writes(const native_memory& at, std::size_t offset, std::span<const std::byte> content);
std::vector<std::byte> device_reads(const native_memory& at);

}  // namespace unibuf::test
