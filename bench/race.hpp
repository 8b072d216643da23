// bench/race.hpp: two pieces of code timed beside each other, by Google Benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <utility>

#include "claim.hpp"

namespace bench {

using body = std::function<void(benchmark::State&)>;

/// Makes a body that does `work` over and over.
template <class Work>
body repeat(Work work) {
    return [work = std::move(work)](benchmark::State& state) {
        for (auto _ : state) work();
    };
}

/// Makes a body that does `work` over and over, each time after `prepare`, which is not timed. It is for work of more
/// than some microseconds: to stop the clock takes nearly one.
template <class Prepare, class Work>
body repeat(Prepare prepare, Work work) {
    return [prepare = std::move(prepare), work = std::move(work)](benchmark::State& state) {
        for (auto _ : state) {
            state.PauseTiming();
            prepare();
            state.ResumeTiming();
            work();
        }
    };
}

/// The time that passes in one iteration.
struct seconds {
    double measured = 0;
    double limit = 0;
};

/// Runs both several times in random order. The fastest run of each counts, because noise only adds.
seconds race(const body& measured, const body& limit);

/// Does both in turns, `rounds` times each, and takes the mean: for work that is not the same in each round. What
/// disturbs one disturbs the other. `prepare` comes before each of the two, and is not timed.
seconds in_turns(
    int rounds, const std::function<void()>& measured, const std::function<void()>& limit,
    const std::function<void()>& prepare = [] {});

/// Does so in 51 parts, and takes the part with the median ratio: for work that waits for another thread, whose waking
/// up takes now a tenth and now ten times of the rest, and for work that another machine on the core slows down more
/// than its limit.
seconds in_typical_turns(
    int rounds, const std::function<void()>& measured, const std::function<void()>& limit,
    const std::function<void()>& prepare = [] {});

constexpr figures in_ns(const seconds& taken) noexcept { return {taken.measured * 1e9, taken.limit * 1e9}; }

/// Returns how much is done in a second, by work that does `amount` of something in each iteration.
constexpr figures as_rate(const seconds& taken, double amount) noexcept {
    return {amount / taken.measured, amount / taken.limit};
}

}  // namespace bench
