// backends/cuda/pinned_share.hpp: how much host memory is pinned, and how much may be.
//
// Pinned pages are taken from the whole machine: a process that pins too many starves it, and the driver does not say
// before it is too late.
#pragma once

#include <cstddef>

namespace unibuf::backends::cuda {

/// Counts bytes as pinned while it exists.
class pinned_share {
public:
    /// Throws error(out_of_memory) where that would be more than the limit.
    explicit pinned_share(std::size_t bytes);
    pinned_share(pinned_share&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = 0; }
    ~pinned_share();
    pinned_share& operator=(pinned_share&&) = delete;

private:
    std::size_t bytes_;
};

}  // namespace unibuf::backends::cuda
