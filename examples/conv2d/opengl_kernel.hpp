// conv2d/opengl_kernel.hpp: the convolution as a compute shader. These are put before it: RADIUS, WIDTH and HEIGHT;
// COLUMNS, ROWS and GROUP, which are the constants here; and SUM(i), the weighted sum around column i of the window.
#pragma once

#include "picture.hpp"

namespace conv2d {

/// One invocation makes such a tile, and so many stand side by side in a group. Columns are loaded and stored as quads.
inline constexpr extent opengl_tile = {.width = 4, .height = 16};
inline constexpr int opengl_group = 32;

/// The shader slides a window of rows down, so that a tile loads each pixel once. The window is one flat array, and SUM
/// has no loop, because compilers of software renderers keep in registers only what constants index.
inline constexpr const char* opengl_kernel = R"(
const int across = COLUMNS + 2 * RADIUS;
const int newest = 2 * RADIUS * across;

layout(local_size_x = GROUP) in;
layout(std430, binding = 0) readonly buffer input_pixels { float from[]; };
layout(std430, binding = 0) readonly buffer input_quads { vec4 from_quads[]; };
layout(std430, binding = 1) writeonly buffer output_pixels { float to[]; };
layout(std430, binding = 1) writeonly buffer output_quads { vec4 to_quads[]; };

float near[newest + across];

void slide_to(int x, int y) {
    for (int i = 0; i < newest; ++i) near[i] = near[i + across];
    const int row = clamp(y, 0, HEIGHT - 1) * WIDTH;
#if WIDTH % COLUMNS == 0
    const vec4 quad = from_quads[(row + x) / COLUMNS];
    for (int i = 0; i < RADIUS; ++i) near[newest + i] = from[row + max(x - RADIUS + i, 0)];
    for (int i = 0; i < COLUMNS; ++i) near[newest + RADIUS + i] = quad[i];
    for (int i = COLUMNS; i < COLUMNS + RADIUS; ++i) near[newest + RADIUS + i] = from[row + min(x + i, WIDTH - 1)];
#else
    for (int i = 0; i < across; ++i) near[newest + i] = from[row + clamp(x - RADIUS + i, 0, WIDTH - 1)];
#endif
}

void main() {
    const int x = int(gl_GlobalInvocationID.x) * COLUMNS;
    const int y = int(gl_GlobalInvocationID.y) * ROWS;
    if (x >= WIDTH) return;
    for (int i = -RADIUS; i < RADIUS; ++i) slide_to(x, y + i);
    for (int down = y; down < min(y + ROWS, HEIGHT); ++down) {
        slide_to(x, down + RADIUS);
        const int target = down * WIDTH + x;
#if WIDTH % COLUMNS == 0
        to_quads[target / COLUMNS] = vec4(SUM(0), SUM(1), SUM(2), SUM(3));
#else
        for (int i = 0; i < COLUMNS; ++i) {
            if (x + i < WIDTH) to[target + i] = SUM(i);
        }
#endif
    }
}
)";

}  // namespace conv2d
