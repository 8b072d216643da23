// tests/doubles/nvrtc/kernel.hpp: what a compiled kernel is: shared by the kernels, the compiler that makes them and
// the driver that runs them.
#pragma once

#include <cstddef>

namespace nvrtc_double {

struct dimensions {
    unsigned x = 1;
    unsigned y = 1;
    unsigned z = 1;
};

/// One parameter. What a kernel touches is told by its pointers alone: it may touch all that they lead to.
struct parameter {
    std::size_t bytes;
    bool is_pointer;
    bool is_written;  // what it points to
};

struct kernel {
    const parameter* parameters;
    std::size_t count;

    /// All threads, one after the other. Arguments as cuLaunchKernel takes them, but pointers are the host's.
    void (*run)(void* const* arguments, dimensions grid, dimensions block);
};

/// A kernel's name in its library is this and the name in the source.
inline constexpr const char* kernel_prefix = "unibuf_kernel_";

/// An image, the "CUBIN", begins with this line, its one number printed by snprintf; that many bytes, a shared library,
/// follow. The "PTX" is the same behind a line with the version of its compiler, as CUDA counts: drivers refuse newer
/// ones than they are.
inline constexpr const char* ptx_line = "// PTX of %d\n";
inline constexpr const char* image_line = "// image of the unibuf test double: %zu bytes\n";

}  // namespace nvrtc_double
