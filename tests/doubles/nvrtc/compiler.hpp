// tests/doubles/nvrtc/compiler.hpp: kernels by the host's compiler.
#pragma once

#include <string>

namespace nvrtc_double {

struct compiled_source {
    bool done = false;
    std::string log;
    std::string image;  // as kernel.hpp has it
};

/// Compiles with the compiler that the tests were built with. A kernel is what the source declares as
/// `extern "C" __global__ void NAME(`; without the "C", its name in the module would be another. `name` is what the log
/// calls the source. Throws std::runtime_error where there is no room for files.
compiled_source compile(const std::string& source, const std::string& name);

}  // namespace nvrtc_double
