// tests/doubles/cuda/settings.cpp
#include "doubles/cuda/settings.hpp"

#include <cstdlib>

namespace cuda_double {
namespace {

int number(const char* name, int otherwise) {
    const char* const text = std::getenv(name);
    return text && *text ? std::atoi(text) : otherwise;
}

}  // namespace

const settings& chosen() {
    static const settings once{
        .devices = number("UNIBUF_CUDA_DOUBLE_DEVICES", 2),
        .broken = number("UNIBUF_CUDA_DOUBLE_BROKEN", -1),
        .version = number("UNIBUF_CUDA_DOUBLE_VERSION", 13000),
        .integrated = number("UNIBUF_CUDA_DOUBLE_INTEGRATED", 0) != 0,
        .pools = number("UNIBUF_CUDA_DOUBLE_POOLS", 1) != 0,
        .reads_pageable = number("UNIBUF_CUDA_DOUBLE_PAGEABLE", 0) != 0,
        .capability = number("UNIBUF_CUDA_DOUBLE_CAPABILITY", 90),
        .hostile = number("UNIBUF_CUDA_DOUBLE_HOSTILE", 0) != 0,
        .jitter = static_cast<std::uint32_t>(number("UNIBUF_CUDA_DOUBLE_JITTER", 1)),
    };
    return once;
}

}  // namespace cuda_double
