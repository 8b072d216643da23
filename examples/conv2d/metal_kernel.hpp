// conv2d/metal_kernel.hpp: the convolution in Metal's shading language. RADIUS and WEIGHTS, which is a list, are put
// before it.
#pragma once

namespace conv2d {

inline constexpr const char* metal_kernel = R"(
#include <metal_stdlib>
using namespace metal;

constant float weights[] = {WEIGHTS};

kernel void convolve(device const float* from [[buffer(0)]], device float* to [[buffer(1)]],
                     constant int& width [[buffer(2)]], constant int& height [[buffer(3)]],
                     uint2 at [[thread_position_in_grid]]) {
    const int x = at.x;
    const int y = at.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    int weight = 0;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
        device const float* row = from + ulong(clamp(y + dy, 0, height - 1)) * width;
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) sum += weights[weight++] * row[clamp(x + dx, 0, width - 1)];
    }
    to[ulong(y) * width + x] = sum;
}
)";

}  // namespace conv2d
