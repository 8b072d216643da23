// bench/race.cpp
#include "race.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {
namespace {

constexpr int repetitions = 20;

class fastest_runs final : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context&) override { return true; }

    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
            const double taken = run.real_accumulated_time / static_cast<double>(run.iterations);
            double& fastest = fastest_.try_emplace(run.run_name.function_name, taken).first->second;
            fastest = std::min(fastest, taken);
        }
    }

    double of(const std::string& name) const { return fastest_.at(name); }

private:
    std::map<std::string, double> fastest_;
};

void configure() {
    std::array arguments{std::string("unibuf_bench"), std::string("--benchmark_enable_random_interleaving=true"),
                         std::string("--benchmark_min_time=0.02")};
    std::array<char*, arguments.size() + 1> pointers{};
    std::ranges::transform(arguments, pointers.begin(), [](std::string& each) { return each.data(); });
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, pointers.data());
}

/// Google Benchmark's list of what to run, emptied also where a benchmark throws.
struct registered {
    registered(const body& measured, const body& limit) {
        for (const auto& [name, run] : {std::pair("measured", &measured), std::pair("limit", &limit)}) {
            benchmark::RegisterBenchmark(name, *run)->UseRealTime()->Repetitions(repetitions);
        }
    }
    ~registered() { benchmark::ClearRegisteredBenchmarks(); }
    registered(const registered&) = delete;
    registered& operator=(const registered&) = delete;
};

}  // namespace

seconds race(const body& measured, const body& limit) {
    [[maybe_unused]] static const bool configured = (configure(), true);
    const registered both(measured, limit);
    fastest_runs runs;
    benchmark::RunSpecifiedBenchmarks(&runs, ".");
    return {runs.of("measured"), runs.of("limit")};
}

seconds in_turns(int rounds, const std::function<void()>& measured, const std::function<void()>& limit,
                 const std::function<void()>& prepare) {
    const auto timed = [&](const std::function<void()>& work) {
        using clock = std::chrono::steady_clock;
        prepare();
        const clock::time_point begin = clock::now();
        work();
        return std::chrono::duration<double>(clock::now() - begin).count();
    };
    seconds sum;
    for (int i = 0; i < rounds; ++i) {
        sum.measured += timed(measured);
        sum.limit += timed(limit);
    }
    return {sum.measured / rounds, sum.limit / rounds};
}

seconds in_typical_turns(int rounds, const std::function<void()>& measured, const std::function<void()>& limit,
                         const std::function<void()>& prepare) {
    std::array<seconds, 51> all;
    constexpr int parts = all.size();
    for (seconds& each : all) each = in_turns((rounds + parts - 1) / parts, measured, limit, prepare);
    constexpr std::ptrdiff_t middle = all.size() / 2;
    std::ranges::nth_element(all, all.begin() + middle, {},
                             [](const seconds& each) { return each.measured / each.limit; });
    return all[middle];
}

}  // namespace bench
