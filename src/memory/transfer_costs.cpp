// memory/transfer_costs.cpp: measures what transfers cost, and remembers.
#include "memory/transfer_costs.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/spaces.hpp"
#include "unibuf/error.hpp"
#include "unibuf/transfer_cost.hpp"

namespace unibuf {
namespace {

using seconds = std::chrono::duration<double>;

constexpr std::size_t small = 4096;
constexpr std::size_t apart = 3 * small;  // such parts are no rectangle, which a device may have a short way for
constexpr std::size_t large = std::size_t{1} << 20;
constexpr std::size_t many = 17;
constexpr int tries = 8;

/// Returns the time of the best of some tries: what disturbs them only takes time.
seconds time_of(backends::memory& memory, const std::byte* host, const std::vector<backends::part>& parts) {
    seconds best = seconds::max();
    for (int i = 0; i < tries; ++i) {
        std::vector<fence> done;
        done.reserve(parts.size());
        const auto begin = std::chrono::steady_clock::now();
        memory.write_parts(parts, host, {}, done);
        for (const fence& each : done) each.wait();
        best = std::min(best, seconds(std::chrono::steady_clock::now() - begin));
    }
    return best;
}

transfer_cost measure(backends::device& device) {
    const std::vector<std::byte> host(2 * large);
    const auto memory = device.allocate({.bytes = host.size()});
    std::vector<backends::part> parts;
    parts.reserve(many);
    for (std::size_t i = 0; i < many; ++i) parts.push_back({i * apart + i % 2 * small, small});
    const seconds one = time_of(*memory, host.data(), {parts[0]});
    const seconds all = time_of(*memory, host.data(), parts);
    const seconds long_one = time_of(*memory, host.data(), {{0, large}});
    const double rate = static_cast<double>(large - small) / std::max((long_one - one).count(), 1e-9);
    const seconds each = (all - one) / (many - 1) - seconds(static_cast<double>(small) / rate);
    return {.each = std::chrono::duration_cast<std::chrono::nanoseconds>(std::max(each, seconds::zero())),
            .bytes_per_second = rate};
}

struct table {
    std::mutex mutex;
    std::array<std::optional<transfer_cost>, max_spaces> costs;

    static table& instance() {
        static auto* const only = new table;  // buffers may go when static objects do
        return *only;
    }
};

}  // namespace

transfer_cost transfer_cost_of(space where) {
    table& known = table::instance();
    const std::scoped_lock lock(known.mutex);
    std::optional<transfer_cost>& cost = known.costs[where.id()];
    if (!cost) {
        backends::device& device = backends::device_of(where);
        cost = device.about().asynchronous ? measure(device) : transfer_cost{};
    }
    return *cost;
}

void set_transfer_cost(space where, transfer_cost cost) {
    if (cost.each.count() < 0 || !(cost.bytes_per_second >= 0)) {
        throw error(error_code::invalid_argument, "a transfer to " + where.name() + " costs less than nothing");
    }
    table& known = table::instance();
    const std::scoped_lock lock(known.mutex);
    known.costs[where.id()] = cost;
}

}  // namespace unibuf

namespace unibuf::detail {

std::size_t worthwhile_gap(coherence::space_id device) noexcept {
    try {
        const transfer_cost cost = transfer_cost_of(space::from_id(device));
        const double bytes = seconds(cost.each).count() * cost.bytes_per_second;
        return static_cast<std::size_t>(std::min(bytes, static_cast<double>(widest_gap)));
    } catch (const std::exception&) {  // Each part goes by itself then. The next time may tell.
        return 0;
    }
}

}  // namespace unibuf::detail
