// conv2d/filter.hpp: the filters to choose from.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace conv2d {

/// A square of weights, row-major. At the border of a picture the nearest pixel inside stands for those outside.
struct filter {
    std::string_view name;
    int radius = 0;  // 1 or 2
    std::span<const float> weights;

    int side() const noexcept { return 2 * radius + 1; }
};

/// Returns the filters edge, blur, sharpen.
std::span<const filter> filters() noexcept;

/// Returns a filter by its name. Throws std::invalid_argument where there is none.
const filter& filter_named(std::string_view name);

/// Writes the weights as CUDA C++, OpenCL C, Metal and GLSL write them in a list.
std::string literals(const filter& of);

}  // namespace conv2d
