// bench/claim.cpp
#include "claim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bench {
namespace {

std::vector<claim>& all() {
    static std::vector<claim> claims;
    return claims;
}

}  // namespace

double goal::margin(const figures& found) const noexcept {
    const double figure = what_ == of::ratio ? found.ratio() : found.measured;
    return side_ == bound::at_most ? value_ / figure : figure / value_;
}

std::string goal::text(std::string_view unit) const {
    const std::string_view side = side_ == bound::at_most ? "<=" : ">=";
    return what_ == of::ratio ? fmt::format("ratio {} {}", side, value_) : fmt::format("{} {} {}", side, value_, unit);
}

declared::declared(claim made) {
    const auto after = std::upper_bound(all().begin(), all().end(), made,
                                        [](const claim& a, const claim& b) { return a.name < b.name; });
    all().insert(after, std::move(made));
}

const std::vector<claim>& claims() { return all(); }

}  // namespace bench
