// doubles/metal/grid.hpp: an MTLSize.
#pragma once

namespace metal_double {

struct grid_size {
    unsigned long width;
    unsigned long height;
    unsigned long depth;
};

}  // namespace metal_double
