// memory/transfer_costs.cpp: measures what transfers cost, and remembers.
#include "memory/transfer_costs.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include "backends/spaces.hpp"
#include "process/mutex.hpp"
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

// A device that queues its work is taken to cost so much until it is measured: about what a card takes on PCIe 4.
constexpr transfer_cost usual{.each = std::chrono::microseconds(1), .bytes_per_second = 16e9};

/// Returns the time of the best of some tries: what disturbs them only takes time.
seconds time_of(backends::memory& memory, const std::byte* host, const std::vector<backends::part>& parts, queue on) {
    seconds best = seconds::max();
    for (int i = 0; i < tries; ++i) {
        backends::fences done;
        done.reserve(parts.size());
        const auto begin = std::chrono::steady_clock::now();
        memory.write_parts(parts, host, on, done);
        for (const fence& each : done) each.wait();
        best = std::min(best, seconds(std::chrono::steady_clock::now() - begin));
    }
    return best;
}

/// Measures on a queue that waits for nobody's work.
transfer_cost measure(backends::device& device) {
    const queue own = device.own_queue();
    const std::vector<std::byte> host(2 * large);
    const auto memory = device.allocate({.bytes = host.size()});
    std::vector<backends::part> parts;
    parts.reserve(many);
    for (std::size_t i = 0; i < many; ++i) parts.push_back({i * apart + i % 2 * small, small});
    const seconds one = time_of(*memory, host.data(), {parts[0]}, own);
    const seconds all = time_of(*memory, host.data(), parts, own);
    const seconds long_one = time_of(*memory, host.data(), {{0, large}}, own);
    const double rate = static_cast<double>(large - small) / std::max((long_one - one).count(), 1e-9);
    const seconds each = (all - one) / (many - 1) - seconds(static_cast<double>(small) / rate);
    return {.each = std::chrono::duration_cast<std::chrono::nanoseconds>(std::max(each, seconds::zero())),
            .bytes_per_second = rate};
}

struct cost_of_device {
    const backends::device* of = nullptr;
    transfer_cost cost{};
};

struct table {
    process::mutex mutex;
    std::array<cost_of_device, max_spaces> costs;  // of each space's number, which may be another device's later

    static table& instance() {
        static auto* const only = new table;  // buffers may go when static objects do
        return *only;
    }

    std::optional<transfer_cost> known(space where) {
        const std::scoped_lock lock(mutex);
        const cost_of_device& found = costs[where.id()];
        return found.of == &backends::device_of(where) ? std::optional(found.cost) : std::nullopt;
    }
};

bool queues_work(space where) noexcept { return backends::device_of(where).about().asynchronous; }

}  // namespace

transfer_cost transfer_cost_of(space where) {
    table& all = table::instance();
    if (const auto known = all.known(where)) return *known;
    backends::device& device = backends::device_of(where);
    const transfer_cost found = queues_work(where) ? measure(device) : transfer_cost{};
    const std::scoped_lock lock(all.mutex);
    cost_of_device& known = all.costs[where.id()];
    if (known.of != &device) known = {&device, found};
    return known.cost;
}

void set_transfer_cost(space where, transfer_cost cost) {
    if (cost.each.count() < 0 || !(cost.bytes_per_second >= 0)) {
        throw error(error_code::invalid_argument, "a transfer to " + where.name() + " costs less than nothing");
    }
    table& known = table::instance();
    const std::scoped_lock lock(known.mutex);
    known.costs[where.id()] = {&backends::device_of(where), cost};
}

}  // namespace unibuf

namespace unibuf::detail {

std::size_t worthwhile_gap(coherence::space_id device) {
    const space where = space::from_id(device);
    const auto known = table::instance().known(where);
    const transfer_cost cost = known ? *known : queues_work(where) ? usual : transfer_cost{};
    const double bytes = seconds(cost.each).count() * cost.bytes_per_second;
    return static_cast<std::size_t>(std::min(bytes, static_cast<double>(widest_gap)));
}

}  // namespace unibuf::detail
