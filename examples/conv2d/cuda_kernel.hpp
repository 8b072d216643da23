// conv2d/cuda_kernel.hpp: the convolution in CUDA C++. These are put before it: RADIUS, WEIGHTS, which is a list, and
// ROWS, which is cuda_rows.
#pragma once

namespace conv2d {

/// So many threads stand side by side, in a row and in a column of a block; neighbours load what lies side by side.
inline constexpr unsigned cuda_block_width = 32;
inline constexpr unsigned cuda_block_height = 4;

/// One thread makes so many pixels of a column: a window slides down, so that a thread loads each row once. That counts
/// where the picture is on the other side of a bus.
inline constexpr int cuda_rows = 16;

inline constexpr const char* cuda_kernel = R"(
extern "C" __global__ void convolve(const float* __restrict__ from, float* __restrict__ to, int width, int height) {
    constexpr int side = 2 * RADIUS + 1;
    constexpr float weights[] = {WEIGHTS};
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int top = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    if (x >= width) return;

    float near[side][side] = {};
    for (int i = -2 * RADIUS; i < ROWS && top + i < height; ++i) {
        const float* row = from + (size_t)max(0, min(top + i + RADIUS, height - 1)) * width;
#pragma unroll
        for (int dy = 0; dy < side - 1; ++dy) {
#pragma unroll
            for (int dx = 0; dx < side; ++dx) near[dy][dx] = near[dy + 1][dx];
        }
#pragma unroll
        for (int dx = 0; dx < side; ++dx) near[side - 1][dx] = row[max(0, min(x + dx - RADIUS, width - 1))];
        if (i < 0) continue;

        float sum = 0;
#pragma unroll
        for (int dy = 0; dy < side; ++dy) {
#pragma unroll
            for (int dx = 0; dx < side; ++dx) sum += weights[dy * side + dx] * near[dy][dx];
        }
        to[(size_t)(top + i) * width + x] = sum;
    }
}
)";

}  // namespace conv2d
