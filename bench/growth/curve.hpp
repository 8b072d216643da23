// bench/growth/curve.hpp: works whose cost may not grow with what else is alive.
//
// A source in this folder has one counted by defining an object at namespace scope:
//
//     const growth::curve mine("area.what", growth::flat, [](std::size_t alive) { ... return [=] { ... }; });
#pragma once

#include <unibuf/fence.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace growth {

/// Makes so many objects, and returns the work that is counted. Each call leaves as many alive as it found.
using making = std::function<std::function<void()>(std::size_t alive)>;

/// How the work may grow with what is alive: table.py has the figures. Linear is a work that does something for each.
enum class growing { flat, logarithmic, linear };
using enum growing;

struct declared {
    growing goal;
    making make;
    making by_hand;  // touches as much memory in the same order; may be empty
};

/// Returns all works, by name.
std::map<std::string, declared>& curves();

/// Work that nobody ends before the process does.
class endless final : public unibuf::fence::work {
public:
    bool wait(std::chrono::nanoseconds) override { return false; }
};

struct curve {
    curve(const char* name, growing goal, making make, making by_hand = {}) {
        curves().emplace(name, declared{goal, std::move(make), std::move(by_hand)});
    }
};

}  // namespace growth
