// conv2d/opencl_kernel.hpp: the convolution in OpenCL C. RADIUS and WEIGHTS, which is a list, are put before it.
#pragma once

namespace conv2d {

/// One work-item makes so many pixels of a row.
inline constexpr int opencl_pixels = 8;

inline constexpr const char* opencl_kernel = R"(
constant float weights[] = {WEIGHTS};

float at_border(global const float* from, int width, int height, int x, int y) {
    float sum = 0;
    int weight = 0;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
        global const float* row = from + (size_t)clamp(y + dy, 0, height - 1) * width;
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) sum += weights[weight++] * row[clamp(x + dx, 0, width - 1)];
    }
    return sum;
}

kernel void convolve(global const float* restrict from, global float* restrict to, int width, int height) {
    const int x = get_global_id(0) * 8;
    const int y = get_global_id(1);
    global float* target = to + (size_t)y * width + x;
    if (x < RADIUS || x + 8 + RADIUS > width) {
        for (int i = 0; i < min(8, width - x); ++i) target[i] = at_border(from, width, height, x + i, y);
        return;
    }
    float8 sum = 0;
    int weight = 0;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
        global const float* row = from + (size_t)clamp(y + dy, 0, height - 1) * width + x;
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) sum += weights[weight++] * vload8(0, row + dx);
    }
    vstore8(sum, 0, target);
}
)";

}  // namespace conv2d
