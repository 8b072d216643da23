// examples/halo/heights.cpp
#include "halo/heights.hpp"

#include <algorithm>
#include <cstdint>

#include "conv2d/picture.hpp"

namespace halo {

void draw(std::span<const float> heights, int width, int height, const std::string& file) {
    conv2d::picture drawn{{width, height}, {}};
    for (const float each : heights) {
        drawn.pixels.push_back(static_cast<std::uint8_t>(std::clamp(128 + 600 * each, 0.0F, 255.0F)));
    }
    conv2d::save(drawn, file);
}

}  // namespace halo
