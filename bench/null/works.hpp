// bench/null/works.hpp: small works with a CUDA device, by unibuf and by hand. They are measured on the null driver,
// where nothing is moved and no call takes time: what is left is the program's own.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "counts.hpp"

namespace bench::null {

/// One work, which both do in the same way as often as one likes.
struct work {
    std::function<void()> by_unibuf;
    std::function<void()> by_hand;
    std::function<void()> prepare = nullptr;  // before each of the two, and no part of the work; null: nothing
    double times = 1;                         // that they do it in a call
};

/// `make` throws unibuf::error(device_unavailable) where the driver is not the null driver.
struct named_work {
    const char* name;
    const char* what;
    double most_ns;  // the goal
    work (*make)();
};

/// Returns all works.
std::span<const named_work> works();

/// Returns what the driver counts while `run` is called.
unibuf_null_counts counted(const std::function<void()>& run);

/// Returns the names that somebody has asked the driver for in vain.
std::vector<std::string> lacking();

}  // namespace bench::null
