// backends/cuda/properties.hpp: what a device says of itself, for people and logs.
#pragma once

#include <vector>

#include "backends/cuda/api.hpp"
#include "unibuf/space.hpp"

namespace unibuf::backends::cuda {

/// Returns the properties, and makes no context. What the driver does not answer is left out.
std::vector<device_property> properties_of(device_ordinal device);

}  // namespace unibuf::backends::cuda
