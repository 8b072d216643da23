// bench/claim.hpp: the claims about the library's cost, and how to find out whether they hold.
//
// A source in this folder claims something by defining one object:
//
//     const bench::declared mine({.name = "area.what", .unit = "ns", .goal = bench::at_most(50), .cases = {
//         {"of what", [] { return bench::in_ns(bench::race(bench::repeat(...), bench::repeat(...))); }}}});
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// A figure and its limit, in the unit of the claim. The limit is what the work costs without the library, measured in
/// the same moments: noise makes absolute times worthless, but leaves the ratio.
struct figures {
    double measured = 0;
    double limit = 0;

    double ratio() const noexcept { return measured / limit; }
    double difference() const noexcept { return measured - limit; }
};

/// A bound on the measured figure, on its ratio to the limit, or on its difference from the limit.
class goal {
public:
    enum class of { measured, ratio, difference };
    enum class bound { at_most, at_least };

    constexpr goal(of what, bound side, double value) noexcept : what_(what), side_(side), value_(value) {}

    /// Returns 1 or more where the goal is reached; the more, the better.
    double margin(const figures& found) const noexcept;

    /// Returns "<= 2 ns", "ratio >= 0.97", "<= limit + 5 ns".
    std::string text(std::string_view unit) const;

private:
    of what_;
    bound side_;
    double value_;
};

constexpr goal at_most(double value) noexcept { return {goal::of::measured, goal::bound::at_most, value}; }
constexpr goal ratio_at_most(double value) noexcept { return {goal::of::ratio, goal::bound::at_most, value}; }
constexpr goal more_at_most(double value) noexcept { return {goal::of::difference, goal::bound::at_most, value}; }
constexpr goal ratio_at_least(double value) noexcept { return {goal::of::ratio, goal::bound::at_least, value}; }

/// One situation that the claim is about. `measure` throws unibuf::error(device_unavailable) where hardware is missing.
struct situation {
    std::string name;
    std::function<figures()> measure;
};

/// A claim about one or several cases; the case that does worst is reported.
struct claim {
    std::string name;  // stable: numbers are compared by it over the years
    std::string unit;
    bench::goal goal;
    std::vector<situation> cases;
};

/// Adds a claim to `claims()`. Objects of it stand at namespace scope.
struct declared {
    explicit declared(claim made);
};

/// Returns all claims, by name.
const std::vector<claim>& claims();

}  // namespace bench
