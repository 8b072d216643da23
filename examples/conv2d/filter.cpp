// conv2d/filter.cpp: the weights.
#include "filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace conv2d {
namespace {

constexpr std::array laplace = {
    -1.0F, -1.0F, -1.0F,  //
    -1.0F, 8.0F,  -1.0F,  //
    -1.0F, -1.0F, -1.0F,
};

constexpr std::array unsharp = {
    0.0F,  -1.0F, 0.0F,   //
    -1.0F, 5.0F,  -1.0F,  //
    0.0F,  -1.0F, 0.0F,
};

/// The outer product of 1 4 6 4 1 with itself, which comes close to a Gaussian.
constexpr auto binomial = [] {
    constexpr std::array row = {1.0F, 4.0F, 6.0F, 4.0F, 1.0F};
    std::array<float, row.size() * row.size()> result{};
    for (std::size_t at = 0; at < result.size(); ++at) result[at] = row[at / row.size()] * row[at % row.size()] / 256;
    return result;
}();

constexpr std::array all = {
    filter{"edge", 1, laplace},
    filter{"blur", 2, binomial},
    filter{"sharpen", 1, unsharp},
};

}  // namespace

std::span<const filter> filters() noexcept { return all; }

const filter& filter_named(std::string_view name) {
    const auto* const found = std::ranges::find(all, name, &filter::name);
    if (found == all.end()) throw std::invalid_argument(fmt::format("there is no filter '{}'", name));
    return *found;
}

std::string literals(const filter& of) {
    std::string result;
    for (const float weight : of.weights) result += fmt::format("{}{:#.9g}f", result.empty() ? "" : ", ", weight);
    return result;
}

}  // namespace conv2d
