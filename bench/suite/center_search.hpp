// suite/center_search.hpp: the host's part of streamcluster, which all of its versions have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "random.hpp"

namespace suite {

/// A point, the one that is its center, and what that costs: the square of the distance to it.
struct point {
    float weight = 0;
    std::int64_t center = 0;
    float cost = 0;
};

/// Searches a small number of centers for many points. What opening one more would change is for others to find out.
class center_search {
public:
    static constexpr std::size_t dimensions = 64;
    static constexpr std::size_t most_columns = 80;  // of the changes that a candidate makes: see saved_by

    /// Makes points at random, which lie in groups. So many candidates are tried, unless the search ends before.
    center_search(std::size_t count, std::size_t most_tries);

    /// The coordinates of all points: first the first of each, then the second of each.
    std::span<const float> coordinates() const noexcept { return coordinates_; }

    /// Begins anew, with centers at random. `columns` gets the number of each point that is a center, here and later.
    void begin(std::span<point> points, std::span<int> columns);

    /// Goes on to the end. `attempt` tries a point as a center, makes it one where that saves something, and returns
    /// what it saves.
    void run(const std::function<float(int candidate)>& attempt);

    /// Returns how many centers there are.
    int centers() const noexcept { return static_cast<int>(centers_); }

    /// Returns what a candidate would save as a center, with those centers closed that are not worth their cost then;
    /// 0 where it would save nothing. `changes` are those of costs. They have a row for each point, and in it a column
    /// for each center, which has what a point there saves by staying, as a number below 0, and a last one, which has
    /// what a point saves by a switch to the candidate, likewise.
    float saved_by(std::span<const float> changes);

    /// Makes the candidate a center that saved_by was asked about last: points go there that switch, or whose center
    /// closes.
    void accept(int candidate, std::span<const char> switches, std::span<point> points, std::span<int> columns);

    struct tried {
        std::size_t centers;  // before
        bool accepted;
    };
    /// The candidates since begin().
    const std::vector<tried>& tries() const noexcept { return tries_; }

private:
    float distance(std::size_t one, std::size_t other) const;
    void open_at_random(std::span<point> points);
    void improve(float least_change, const std::function<float(int candidate)>& attempt);
    void number(std::span<int> columns) const;

    std::size_t count_;
    std::size_t most_tries_;
    std::vector<float> points_;  // the coordinates of one behind those of another
    std::vector<float> coordinates_;

    random_numbers random_;
    std::vector<int> candidates_;
    float center_cost_ = 0;
    float cost_ = 0;
    std::size_t centers_ = 0;
    std::vector<bool> is_center_;
    std::vector<bool> closes_;  // of each column
    std::vector<tried> tries_;
};

}  // namespace suite
