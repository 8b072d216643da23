// doubles/metal/library.hpp: kernels in Metal's shading language, by the host's compiler.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "doubles/metal/grid.hpp"
#include "doubles/metal/runtime.hpp"

namespace metal_double {

/// An MTLFunction, and a pipeline of it.
class kernel_function final : public object {
public:
    static const type about;

    /// Runs all threads, one after the other. A buffer is its address at the GPU.
    using runner = void(void* const* buffers, grid_size threads);

    kernel_function(runner* all, std::size_t buffers, const bool* are_written)
        : object(about), run_(all), buffers_(buffers), are_written_(are_written) {}

    bool writes(std::size_t buffer) const { return buffer < buffers_ && are_written_[buffer]; }
    void run(const std::vector<void*>& buffers, grid_size threads) const;

private:
    runner* run_;
    std::size_t buffers_;
    const bool* are_written_;
};

/// Returns an MTLLibrary; null, with an NSError, where the source is wrong. A kernel is what is declared as
/// `kernel void NAME(`; its arguments are buffers, from [[buffer(0)]] on, and then its position in the grid.
object* compiled_library(const std::string& source, object** error);

}  // namespace metal_double
