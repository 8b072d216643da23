// doubles/metal/kernel.hpp: what a compiled kernel is: shared by the kernels, and the double that runs them.
#pragma once

#include <cstddef>

#include "doubles/metal/grid.hpp"

namespace metal_double {

struct compiled_kernel {
    std::size_t buffers;
    const bool* are_written;  // each buffer
    void (*run)(void* const* buffers, grid_size threads);
};

/// A kernel's name in its library is this and the name in the source.
inline constexpr const char* kernel_prefix = "unibuf_kernel_";

}  // namespace metal_double
