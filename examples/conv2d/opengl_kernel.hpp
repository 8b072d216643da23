// conv2d/opengl_kernel.hpp: the convolution as a compute shader. RADIUS and WEIGHTS, a list, are put before it.
#pragma once

#include "picture.hpp"

namespace conv2d {

/// What one invocation makes, and how many stand side by side in a group.
inline constexpr extent opengl_tile = {.width = 4, .height = 16};
inline constexpr int opengl_group = 32;

/// Each pixel is loaded once for a tile: a window of rows slides down, in registers.
inline constexpr const char* opengl_kernel = R"(
const int side = 2 * RADIUS + 1;
const int across = COLUMNS + 2 * RADIUS;
const float weights[side * side] = float[](WEIGHTS);

layout(local_size_x = GROUP) in;
layout(std430, binding = 0) readonly restrict buffer input_pixels { float from[]; };
layout(std430, binding = 1) writeonly restrict buffer output_pixels { float to[]; };
layout(location = 0) uniform ivec2 size;

float[across] load_row(int x, int y) {
    float[across] row;
    const int start = clamp(y, 0, size.y - 1) * size.x;
    for (int i = 0; i < across; ++i) row[i] = from[start + clamp(x - RADIUS + i, 0, size.x - 1)];
    return row;
}

void main() {
    const int x = int(gl_GlobalInvocationID.x) * COLUMNS;
    const int y = int(gl_GlobalInvocationID.y) * ROWS;
    if (x >= size.x) return;
    float[across] near[side];
    for (int i = 0; i + 1 < side; ++i) near[i + 1] = load_row(x, y + i - RADIUS);
    for (int down = y; down < min(y + ROWS, size.y); ++down) {
        for (int i = 0; i + 1 < side; ++i) near[i] = near[i + 1];
        near[side - 1] = load_row(x, down + RADIUS);
        for (int i = 0; i < COLUMNS; ++i) {
            float sum = 0;
            for (int dy = 0; dy < side; ++dy) {
                for (int dx = 0; dx < side; ++dx) sum += weights[dy * side + dx] * near[dy][i + dx];
            }
            if (x + i < size.x) to[down * size.x + x + i] = sum;
        }
    }
}
)";

}  // namespace conv2d
