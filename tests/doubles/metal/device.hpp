// doubles/metal/device.hpp
#pragma once

#include <cstdint>

#include "doubles/metal/runtime.hpp"

namespace metal_double {

/// A device. UNIBUF_METAL_DOUBLE_UNIFIED=0 gives it memory of its own, as AMD's and Intel's have it.
class device final : public object {
public:
    static const type about;
    explicit device(std::uint64_t index) : object(about), number(index + 1) {}

    const std::uint64_t number;
};

}  // namespace metal_double
