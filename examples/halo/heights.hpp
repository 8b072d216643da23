// examples/halo/heights.hpp: a picture of heights.
#pragma once

#include <span>
#include <string>

namespace halo {

/// Writes a grey PNG of `width` times `height` heights, row by row; 0 is in the middle. Throws where that fails.
void draw(std::span<const float> heights, int width, int height, const std::string& file);

}  // namespace halo
