// suite/center_search.cpp
#include "center_search.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace suite {
namespace {

constexpr std::size_t groups = 11;  // of points that are near each other
constexpr std::size_t fewest_centers = 10;
constexpr std::size_t most_centers = 20;
constexpr std::size_t candidates = 69;  // 3 n ln n of the fewest centers
constexpr std::size_t turns = 179;      // 3 n ln n of the most

}  // namespace

center_search::center_search(std::size_t count, std::size_t most_tries) : count_(count), most_tries_(most_tries) {
    const std::vector<float> middles = random_.take(groups * dimensions);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t first = static_cast<std::size_t>(random_.below(groups)) * dimensions;
        for (std::size_t d = 0; d < dimensions; ++d) points_.push_back(middles[first + d] + 0.3F * random_.next());
    }
    for (std::size_t d = 0; d < dimensions; ++d) {
        for (std::size_t i = 0; i < count; ++i) coordinates_.push_back(points_[i * dimensions + d]);
    }
}

float center_search::distance(std::size_t one, std::size_t other) const {
    float sum = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
        const float apart = points_[one * dimensions + d] - points_[other * dimensions + d];
        sum += apart * apart;
    }
    return sum;
}

void center_search::begin(std::span<point> points, std::span<int> columns) {
    random_ = {};
    tries_.clear();
    center_cost_ = 0;
    for (std::size_t i = 0; i < count_; ++i) center_cost_ += distance(i, 0);
    do {
        center_cost_ /= 2;
        open_at_random(points);
    } while (centers_ < fewest_centers);
    candidates_.resize(candidates);
    for (int& each : candidates_) each = random_.below(count_);
    number(columns);
}

/// Opens each point as a center that is far from the others, as probably as its cost is a part of a center's.
void center_search::open_at_random(std::span<point> points) {
    is_center_.assign(count_, false);
    is_center_[0] = true;
    centers_ = 1;
    for (std::size_t i = 0; i < count_; ++i) points[i] = {1, 0, distance(i, 0)};
    for (std::size_t i = 1; i < count_; ++i) {
        if (random_.next() >= points[i].cost / center_cost_) continue;
        is_center_[i] = true;
        ++centers_;
        for (std::size_t other = 0; other < count_; ++other) {
            const float cost = distance(i, other);
            if (cost < points[other].cost) points[other] = {1, static_cast<std::int64_t>(i), cost};
        }
    }
    cost_ = center_cost_ * static_cast<float>(centers_);
    for (const point& each : points) cost_ += each.cost;
}

void center_search::run(const std::function<float(int candidate)>& attempt) {
    float low = 0;
    float high = 2 * center_cost_;
    while (tries_.size() < most_tries_) {
        improve(0.1F, attempt);
        if (centers_ + 2 >= fewest_centers && centers_ <= most_centers + 2) improve(0.001F, attempt);
        if (centers_ >= fewest_centers && centers_ <= most_centers) return;
        (centers_ > most_centers ? low : high) = center_cost_;
        const float before = std::exchange(center_cost_, (low + high) / 2);
        cost_ += (center_cost_ - before) * static_cast<float>(centers_);
        if (low >= 0.999F * high) return;
    }
}

/// Tries candidates as long as that makes more than a part of the costs go.
void center_search::improve(float least_change, const std::function<float(int candidate)>& attempt) {
    float change = 0;
    do {
        change = 0;
        for (std::size_t i = candidates - 1; i > 0; --i) {
            std::swap(candidates_[i], candidates_[static_cast<std::size_t>(random_.below(i + 1))]);
        }
        for (std::size_t turn = 0; turn < turns && tries_.size() < most_tries_; ++turn) {
            if (centers_ + 1 > most_columns)
                throw std::logic_error("streamcluster has opened more centers than expected");
            tries_.push_back({centers_, false});
            const float saved = attempt(candidates_[turn % candidates]);
            change += saved;
            tries_.back().accepted = saved > 0;
        }
        cost_ -= change;
    } while (change / cost_ > least_change);
}

float center_search::saved_by(std::span<const float> changes) {
    const std::size_t row = centers_ + 1;
    std::vector<float> sums(row);
    for (std::size_t i = 0; i < count_; ++i) {
        for (std::size_t column = 0; column < row; ++column) sums[column] += changes[i * row + column];
    }
    closes_.assign(centers_, false);
    float total = center_cost_ + sums[centers_];
    for (std::size_t column = 0; column < centers_; ++column) {
        const float saved = center_cost_ + sums[column];
        if (saved <= 0) continue;
        closes_[column] = true;
        total -= saved;
    }
    return std::max(-total, 0.0F);
}

void center_search::accept(int candidate, std::span<const char> switches, std::span<point> points,
                           std::span<int> columns) {
    const auto to = static_cast<std::size_t>(candidate);
    const auto has_closed = [&](std::size_t center) { return closes_[static_cast<std::size_t>(columns[center])]; };
    for (std::size_t i = 0; i < count_; ++i) {
        if (switches[i] == 0 && !has_closed(static_cast<std::size_t>(points[i].center))) continue;
        points[i].center = candidate;
        points[i].cost = points[i].weight * distance(i, to);
    }
    for (std::size_t i = 0; i < count_; ++i) {
        if (is_center_[i] && has_closed(i)) is_center_[i] = false;
    }
    is_center_[to] = true;
    centers_ = static_cast<std::size_t>(std::ranges::count(is_center_, true));
    number(columns);
}

/// Gives each center the number of its column.
void center_search::number(std::span<int> columns) const {
    int next = 0;
    for (std::size_t i = 0; i < count_; ++i) columns[i] = is_center_[i] ? next++ : -1;
}

}  // namespace suite
