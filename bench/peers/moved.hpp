// peers/moved.hpp: the bytes that OpenCL has moved between host and device, for whoever asked.
#pragma once

#include <cstdint>

namespace peers {

/// Bytes that were read, written, and mapped. A driver whose device has no memory of its own copies nothing for a map.
struct traffic {
    std::uint64_t copied = 0;
    std::uint64_t mapped = 0;
};

/// Whether the layer that counts is there: OPENCL_LAYERS names it.
bool is_counting();

traffic moved();

}  // namespace peers
