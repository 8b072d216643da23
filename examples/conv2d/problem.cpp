// conv2d/problem.cpp: the plain convolution that all others are compared with.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "conv2d.hpp"

namespace conv2d {
namespace {

constexpr float tolerance = 1e-5F;

float convolved(std::span<const float> input, extent size, const filter& by, int x, int y) {
    float sum = 0;
    const float* weight = by.weights.data();
    for (int dy = -by.radius; dy <= by.radius; ++dy) {
        const int row = std::clamp(y + dy, 0, size.height - 1);
        for (int dx = -by.radius; dx <= by.radius; ++dx) {
            const int column = std::clamp(x + dx, 0, size.width - 1);
            sum += *weight++ * input[static_cast<std::size_t>(row) * static_cast<std::size_t>(size.width) +
                                     static_cast<std::size_t>(column)];
        }
    }
    return sum;
}

}  // namespace

problem::problem(picture input, const filter& by)
    : input_(std::move(input)), by_(&by), expected_(input_.size.pixels()) {
    std::vector<float> pixels(input_.size.pixels());
    input_.convert(0, pixels);
    auto next = expected_.begin();
    for (int y = 0; y < input_.size.height; ++y) {
        for (int x = 0; x < input_.size.width; ++x) *next++ = convolved(pixels, input_.size, by, x, y);
    }
}

void problem::check(std::span<const float> result) const {
    for (std::size_t at = 0; at < expected_.size(); ++at) {
        if (std::abs(result[at] - expected_[at]) <= tolerance) continue;  // false for NaN
        const auto width = static_cast<std::size_t>(input_.size.width);
        throw std::runtime_error(fmt::format("the result is wrong: at column {}, row {} it is {}, and should be {}",
                                             at % width, at / width, result[at], expected_[at]));
    }
}

}  // namespace conv2d
