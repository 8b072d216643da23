// bench/waste.cpp: how much more memory than was asked for pools and arenas need, over traces of allocations.
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "backends/arena.hpp"
#include "claim.hpp"

namespace bench::waste_bench {
namespace {

/// An allocation or its end: `id` is alive from its first event to its second.
struct event {
    std::size_t id = 0;
    std::size_t bytes = 0;  // 0 at the end of the allocation
};

class trace {
public:
    std::size_t begin(std::size_t bytes) {
        events_.push_back({next_, bytes});
        return next_++;
    }
    void end(std::size_t id) { events_.push_back({id, 0}); }
    std::span<const event> events() const noexcept { return events_; }

private:
    std::vector<event> events_;
    std::size_t next_ = 0;
};

/// A trace of steps of training a dense network of many layers. What it learns stays, and so do two moments of each;
/// what comes out of a layer lives from the forward to the backward pass, and the gradients until all of them are
/// applied.
trace training() {
    constexpr std::size_t layers = 500;
    constexpr std::size_t batch = 32;
    constexpr std::array<std::size_t, 5> widths{100, 512, 300, 384, 10};
    const auto reals = [](std::size_t count) { return count * sizeof(float); };
    const auto width = [&](std::size_t layer) { return widths[layer % widths.size()]; };
    trace made;
    for (std::size_t i = 0; i < layers; ++i) {
        for (int kept = 0; kept < 3; ++kept) made.begin(reals(width(i)));
    }
    for (int step = 0; step < 20; ++step) {
        std::vector<std::size_t> outputs;
        outputs.reserve(layers);
        for (std::size_t i = 0; i < layers; ++i) outputs.push_back(made.begin(reals(batch * width(i))));
        std::vector<std::size_t> gradients;
        gradients.reserve(layers);
        std::size_t error = made.begin(reals(batch * width(layers - 1)));
        for (std::size_t i = layers; i-- > 0;) {
            gradients.push_back(made.begin(reals(width(i))));
            made.end(std::exchange(error, made.begin(reals(batch * width(i)))));
            made.end(outputs[i]);
        }
        made.end(error);
        for (const std::size_t each : gradients) made.end(each);
    }
    return made;
}

/// A trace of sizes between 256 bytes and 64 KiB, as many in each octave; each allocation lives until a random later
/// time.
trace random_sizes() {
    trace made;
    std::mt19937 random(1);
    std::uniform_real_distribution<double> octaves(8, 16);
    std::vector<std::size_t> alive;
    for (int i = 0; i < 100'000; ++i) {
        if (alive.size() > 10'000 || (alive.size() > 8'000 && random() % 2 == 0)) {
            std::swap(alive[random() % alive.size()], alive.back());
            made.end(alive.back());
            alive.pop_back();
        } else {
            alive.push_back(made.begin(static_cast<std::size_t>(std::exp2(octaves(random)))));
        }
    }
    return made;
}

/// A trace of arrays that grow by half each time, as vectors do: old and new are there together while one moves.
trace growing_sizes() {
    trace made;
    std::vector<std::pair<std::size_t, std::size_t>> arrays;
    arrays.reserve(2000);
    for (std::size_t i = 0; i < 2000; ++i) arrays.emplace_back(made.begin(1000 + 2 * i), 1000 + 2 * i);
    for (int round = 0; round < 6; ++round) {
        for (auto& [id, bytes] : arrays) {
            bytes += bytes / 2;
            made.end(std::exchange(id, made.begin(bytes)));
        }
    }
    return made;
}

/// Returns the worst moment of a trace: what is taken against what is asked for, at each new peak of the latter.
template <class Begin, class End, class Taken>
bench::figures play(const trace& of, Begin begin, End end, Taken taken) {
    std::map<std::size_t, std::size_t> alive;
    double asked = 0;
    double most_asked = 0;
    double most_taken = 0;
    for (const event& each : of.events()) {
        if (each.bytes != 0) {
            begin(each.id, each.bytes);
            alive[each.id] = each.bytes;
            asked += static_cast<double>(each.bytes);
        } else {
            end(each.id, alive[each.id]);
            asked -= static_cast<double>(alive[each.id]);
            alive.erase(each.id);
        }
        most_asked = std::max(most_asked, asked);
        most_taken = std::max(most_taken, static_cast<double>(taken()));
    }
    return {.measured = most_taken / (1 << 20), .limit = most_asked / (1 << 20)};
}

bench::figures of_pool(const trace& played) {
    unibuf::memory_pool pool;
    pool.limit(0);  // memory that is kept for later is no waste
    std::map<std::size_t, unibuf::buffer> alive;
    return play(
        played, [&](std::size_t id, std::size_t bytes) { alive.emplace(id, pool.acquire(bytes)); },
        [&](std::size_t id, std::size_t) {
            pool.release(std::move(alive.at(id)));
            alive.erase(id);
        },
        [&] { return pool.statistics().peak_bytes; });
}

bench::figures of_arena(const trace& played) {
    using unibuf::backends::arena;
    struct addresses final : arena::block {
        explicit addresses(std::uintptr_t from) : begin(from) {}
        std::uintptr_t address() const noexcept override { return begin; }
        std::uintptr_t begin;
    };
    std::uintptr_t next = 1 << 21;
    arena tried(
        {}, [&](std::size_t bytes) { return std::make_unique<addresses>(std::exchange(next, next + bytes)); }, [] {});
    std::map<std::size_t, std::uintptr_t> alive;
    return play(
        played, [&](std::size_t id, std::size_t bytes) { alive[id] = tried.allocate(bytes).address; },
        [&](std::size_t id, std::size_t bytes) {
            tried.free(alive[id], bytes, false);
            alive.erase(id);
        },
        [&] { return tried.used().block_bytes; });
}

const bench::declared pools({.name = "pool.waste",
                             .unit = "MiB",
                             .goal = bench::ratio_at_most(1.125),
                             .cases = {{"dense training", [] { return of_pool(training()); }},
                                       {"random sizes", [] { return of_pool(random_sizes()); }},
                                       {"growing sizes", [] { return of_pool(growing_sizes()); }}}});

const bench::declared arenas({.name = "pool.fragmentation",
                              .unit = "MiB",
                              .goal = bench::ratio_at_most(1.125),
                              .cases = {{"dense training", [] { return of_arena(training()); }},
                                        {"random sizes", [] { return of_arena(random_sizes()); }},
                                        {"growing sizes", [] { return of_arena(growing_sizes()); }}}});

}  // namespace
}  // namespace bench::waste_bench
