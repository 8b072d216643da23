// doubles/metal/device.hpp
#pragma once

#include "doubles/metal/runtime.hpp"

namespace metal_double {

/// A device. UNIBUF_METAL_DOUBLE_UNIFIED=0 gives it memory of its own, as AMD's and Intel's have it.
class device final : public object {
public:
    static const type about;
    device() : object(about) {}
};

}  // namespace metal_double
