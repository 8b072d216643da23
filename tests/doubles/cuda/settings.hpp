// tests/doubles/cuda/settings.hpp: which driver and which devices the double stands for. From the environment, once.
#pragma once

#include <cstdint>

namespace cuda_double {

struct settings {
    int devices;           // UNIBUF_CUDA_DOUBLE_DEVICES
    int broken;            // UNIBUF_CUDA_DOUBLE_BROKEN: the ordinal of a device that cannot be asked; -1 for none
    int version;           // UNIBUF_CUDA_DOUBLE_VERSION, as CUDA counts: 12040 is 12.4
    bool integrated;       // UNIBUF_CUDA_DOUBLE_INTEGRATED=1
    bool pools;            // UNIBUF_CUDA_DOUBLE_POOLS=0: the devices have none
    bool reads_pageable;   // UNIBUF_CUDA_DOUBLE_PAGEABLE=1: the devices read all of the host's memory
    int capability;        // UNIBUF_CUDA_DOUBLE_CAPABILITY: 90 is 9.0
    bool hostile;          // UNIBUF_CUDA_DOUBLE_HOSTILE=1: see control::set_hostile
    std::uint32_t jitter;  // UNIBUF_CUDA_DOUBLE_JITTER: the seed of the delays; 0 for none
};

const settings& chosen();

}  // namespace cuda_double
