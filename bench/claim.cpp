// bench/claim.cpp
#include "claim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace bench {
namespace {

std::vector<claim>& all() {
    static std::vector<claim> claims;
    return claims;
}

}  // namespace

double goal::margin(const figures& found) const noexcept {
    double figure = found.measured;
    if (what_ == of::ratio) figure = found.ratio();
    if (what_ == of::difference) figure = std::max(found.difference(), value_ * 1e-6);  // no difference below 0
    if (side_ == bound::at_least) return figure / value_;
    return figure == 0 ? std::numeric_limits<double>::infinity() : value_ / figure;
}

std::string goal::text(std::string_view unit) const {
    const std::string_view side = side_ == bound::at_most ? "<=" : ">=";
    switch (what_) {
        case of::ratio:
            return fmt::format("ratio {} {}", side, value_);
        case of::difference:
            return value_ == 0 ? fmt::format("{} limit", side) : fmt::format("{} limit + {} {}", side, value_, unit);
        case of::measured:
            break;
    }
    return fmt::format("{} {} {}", side, value_, unit);
}

declared::declared(claim made) {
    const auto after = std::upper_bound(all().begin(), all().end(), made,
                                        [](const claim& a, const claim& b) { return a.name < b.name; });
    all().insert(after, std::move(made));
}

const std::vector<claim>& claims() { return all(); }

}  // namespace bench
