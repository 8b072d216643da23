// bench/trace.cpp: what the recorder costs that is always on.
#include <unibuf/opencl.hpp>
#include <unibuf/trace.hpp>
#include <unibuf/unibuf.hpp>

#include <cstddef>

#include "race.hpp"
#include "trace/recorder.hpp"

namespace bench::trace_bench {
namespace {

constexpr std::size_t usual = 1024;  // events that each thread keeps

/// Makes a body that does `work` while each thread keeps so many events.
template <class Work>
bench::body with_events(std::size_t kept, Work work) {
    return [=](benchmark::State& state) {
        unibuf::keep_events(kept);
        for (auto _ : state) work();
        unibuf::keep_events(usual);
    };
}

template <class Work>
bench::seconds on_against_off(Work work) {
    return bench::race(with_events(usual, work), with_events(0, work));
}

/// Measures a lease of a current copy, by the lock: one event, and nothing else to do.
bench::figures lease() {
    unibuf::unified_buffer<float> mine({1024});
    mine.write("debug:0").release();
    return bench::in_ns(on_against_off([&] { mine.read("debug:0").release(); }));
}

/// Measures a round of a simulation that sends its edge to the device: two accesses and a transfer.
bench::figures round_trip(unibuf::space where) {
    constexpr std::size_t edge = 2048;
    unibuf::unified_buffer<float> mine({edge * edge}, {.hint = unibuf::memory_hint::gpu_preferred});
    mine.write(where).release();
    const auto round_with = [&](bool events) {
        return [&, events] {
            unibuf::trace::wanted = events;
            mine.write("host", {.offset = 0, .count = edge})[0] = 1;
            mine.read(where).release();
        };
    };
    const bench::figures found = bench::in_ns(bench::in_typical_turns(200, round_with(true), round_with(false)));
    unibuf::trace::wanted = true;
    return found;
}

/// Measures the look at whether anybody wants events, which is all that is left where nobody does.
bench::figures look() {
    constexpr int times = 64;
    const auto many = [](auto each) {
        return bench::repeat([=] {
            for (int i = 0; i < times; ++i) {
                each();
                benchmark::DoNotOptimize(i);
            }
        });
    };
    const bool before = unibuf::trace::wanted.exchange(false);
    const auto event_if_on = [] {
        if (unibuf::trace::is_on()) unibuf::recorded_events();
    };
    const bench::figures all = bench::in_ns(bench::race(many(event_if_on), many([] {})));
    unibuf::trace::wanted = before;
    return {all.measured / times, all.limit / times};
}

const bench::declared off({.name = "trace.off",
                           .unit = "ns",
                           .goal = bench::more_at_most(1),
                           .cases = {{"the look at whether events are wanted", look}}});
const bench::declared event({.name = "trace.event",
                             .unit = "ns",
                             .goal = bench::more_at_most(100),
                             .cases = {{"a lease of a current copy, by the lock", lease}}});
const bench::declared run({.name = "trace.run",
                           .unit = "ns",
                           .goal = bench::ratio_at_most(1.02),
                           .cases = {{"8 KiB to opencl:0, of 16 MiB", [] { return round_trip("opencl:0"); }}}});

}  // namespace
}  // namespace bench::trace_bench
