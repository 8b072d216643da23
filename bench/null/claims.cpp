// bench/null/claims.cpp: the processor time that each work takes of the program's own, and the calls of the driver that
// it makes.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <vector>

#include "claim.hpp"
#include "compared.hpp"
#include "works.hpp"

namespace bench::null {
namespace {

constexpr int warm_up = 100;    // until memory has been made, and what is kept for later is kept
constexpr int at_once = 1000;   // between two looks at the clock, which take as long as a small work
constexpr int rounds = 50;      // of which the fastest counts, because noise only adds
constexpr int singles = 5'000;  // where only one can be done between two looks

/// Returns the processor time of all threads.
double now_in_ns() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double time_of(const std::function<void()>& run, int repeats) {
    const double begin = now_in_ns();
    for (int i = 0; i < repeats; ++i) run();
    return (now_in_ns() - begin) / repeats;
}

work warm(const named_work& of) {
    work made = of.make();
    for (int i = 0; i < warm_up / made.times; ++i) {
        if (made.prepare) made.prepare();
        made.by_unibuf();
        made.by_hand();
    }
    return made;
}

/// Measures both in turns.
figures times_of(const named_work& of) {
    const work made = warm(of);
    const int repeats = made.prepare ? 1 : std::max(1, static_cast<int>(at_once / made.times));
    constexpr double never = std::numeric_limits<double>::infinity();
    figures fastest{never, never};
    double clock = never;
    for (int i = 0; i < (made.prepare ? singles : rounds); ++i) {
        const auto measure = [&](const std::function<void()>& run, double& best) {
            if (made.prepare) made.prepare();
            best = std::min(best, time_of(run, repeats));
        };
        measure(made.by_unibuf, fastest.measured);
        measure(made.by_hand, fastest.limit);
        clock = std::min(clock, time_of([] {}, 1) / repeats);
    }
    return {(fastest.measured - clock) / made.times, (fastest.limit - clock) / made.times};
}

figures calls_of(const named_work& of) {
    const work made = warm(of);
    const auto calls = [&](const std::function<void()>& run) {
        if (made.prepare) made.prepare();
        return static_cast<double>(counted(run).calls) / made.times;
    };
    return {calls(made.by_unibuf), calls(made.by_hand)};
}

const std::vector<declared> declarations = [] {
    std::vector<declared> made;
    for (const named_work& each : works()) {
        made.emplace_back(claim{.name = fmt::format("null.{}", each.name),
                                .unit = "ns",
                                .goal = at_most(each.most_ns),
                                .cases = {{each.what, [&each] { return times_of(each); }}}});
        made.emplace_back(claim{.name = fmt::format("null.{}.calls", each.name),
                                .unit = "calls",
                                .goal = more_at_most(0),
                                .cases = {{each.what, [&each] { return calls_of(each); }}}});
    }
    return made;
}();

constexpr std::size_t sixteen_mib = std::size_t{16} << 20;

// At the rate of UNIBUF_NULL_GBPS; where copies take no time, sending all is always cheaper.
const declared compared({.name = "null.compared",
                         .unit = "ns",
                         .goal = ratio_at_most(1.05),
                         .cases = {{"a page of 64 MiB", [] { return one_page_compared("cuda:0", 4 * sixteen_mib); }},
                                   {"all of 16 MiB", [] { return all_compared("cuda:0", sixteen_mib); }}}});

}  // namespace
}  // namespace bench::null
