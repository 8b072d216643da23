// suite/main.cpp: unibuf_suite, which runs the suite's programs in all their versions: are the results the same, how
// many bytes moved, and how long did it take?
#include <unibuf/error.hpp>
#include <unibuf/options.hpp>
#include <unibuf/statistics.hpp>
#include <unibuf/trace.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/arguments.hpp"
#include "program.hpp"

namespace suite {
namespace {

constexpr unibuf::buffer_options with(unibuf::memory_hint hint) {
    unibuf::buffer_options options;
    options.hint = hint;
    return options;
}

/// A version of a program's host part.
struct version {
    const char* name;
    std::function<void(program&)> run;
    bool is_timed = true;  // in each round
};

const std::vector<version>& versions() {
    static const std::vector<version> all{
        {"expert", [](program& of) { of.expert(); }},
        {"unibuf", [](program& of) { of.by_unibuf(with(unibuf::memory_hint::gpu_preferred)); }},
        {"unibuf shared", [](program& of) { of.by_unibuf(with(unibuf::memory_hint::coherent)); }},
        {"published", [](program& of) { of.published(); }},
        {"copy all", [](program& of) { of.copy_all(); }, false},
    };
    return all;
}

/// What one run has moved, and taken.
struct run_figures {
    std::uint64_t bytes = 0;
    double seconds = 0;
};

run_figures one_run(program& of, const version& which) {
    using clock = std::chrono::steady_clock;
    unibuf::reset_statistics();
    const std::uint64_t before = of.moved_by_hand();
    const clock::time_point begin = clock::now();
    which.run(of);
    const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
    return {of.moved_by_hand() - before + unibuf::total_statistics().bytes_moved(), seconds};
}

/// Runs the version that unibuf serves, and throws std::runtime_error where it moves another number of bytes than the
/// ledger says, or its own trace.
void check_moves_the_least(const entry& of, program& made) {
    const version& ours = versions()[1];
    unibuf::keep_events(std::size_t{1} << 16U);
    const std::size_t before = unibuf::recorded_events().size();
    const std::uint64_t bytes = one_run(made, ours).bytes;
    const std::vector<unibuf::event> events = unibuf::recorded_events();
    const unibuf::traffic traced = unibuf::traffic_of(std::span(events).subspan(before));
    ledger told;
    made.touches(told);
    if (bytes == told.least() && bytes == traced.least) return;
    throw std::runtime_error(fmt::format("{}: '{}' moves {} bytes; the least is {}, and {} by its trace", of.name,
                                         ours.name, bytes, told.least(), traced.least));
}

double median(std::vector<double> of) {
    const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
    std::ranges::nth_element(of, middle);
    return *middle;
}

/// What the runs of a version have moved, and taken in each round.
struct version_figures {
    std::uint64_t bytes = 0;
    std::vector<double> seconds;
};

/// Runs all versions in turns, each round beginning with another one: whoever comes after a certain version finds the
/// caches as that has left them. Throws std::runtime_error where their results differ.
std::vector<version_figures> run_in_turns(program& of, const std::string& name, int rounds) {
    std::vector<version_figures> figures(versions().size());
    std::vector<std::byte> expected;
    for (int round = -1; round < rounds; ++round) {  // the first one is not timed: drivers are warm afterwards
        for (std::size_t i = 0; i < versions().size(); ++i) {
            const std::size_t turn = (i + static_cast<std::size_t>(round + 1)) % versions().size();
            const version& each = versions()[turn];
            if (!each.is_timed && round > 0) continue;
            const run_figures found = one_run(of, each);
            const std::vector<std::byte> result = of.take_result();
            if (expected.empty()) expected = result;
            if (result != expected) {
                throw std::runtime_error(
                    fmt::format("{}: '{}' has another result than the versions before", name, each.name));
            }
            figures[turn].bytes = found.bytes;
            if (round >= 0) figures[turn].seconds.push_back(found.seconds);
        }
    }
    return figures;
}

/// Runs a program, and returns a row for each version.
nlohmann::ordered_json rows_of(const entry& of, unibuf::space where, scale size, int rounds) {
    const std::unique_ptr<program> made = of.make(where, size);
    const std::vector<version_figures> figures = run_in_turns(*made, of.name, rounds);
    ledger told;
    made->touches(told);
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < figures.size(); ++i) {
        std::vector<double> ratios;
        std::ranges::transform(figures[i].seconds, figures[0].seconds, std::back_inserter(ratios), std::divides());
        rows.push_back({{"program", of.name},
                        {"origin", of.origin},
                        {"problem", of.problem},
                        {"version", versions()[i].name},
                        {"bytes", figures[i].bytes},
                        {"least", told.least()},
                        {"seconds", median(figures[i].seconds)},
                        {"against_expert", median(ratios)}});
    }
    return rows;
}

int run_all(int argc, char** argv) {
    std::string only;
    std::string json;
    std::string where = "opencl:0";
    int rounds = 15;
    bool is_small = false;
    bool is_check = false;
    bool is_list = false;
    examples::arguments told("Runs the programs of the suite in all their versions.");
    told.text("--json", json, "Where to write the figures", "FILE");
    told.text("--program", only, "Only this one", "NAME");
    told.text("--device", where, "An OpenCL device", "SPACE");
    told.number("--rounds", rounds, 1, 1000, "How often each version is timed");
    told.flag("--small", is_small, "Small problems: for tests");
    told.flag("--check", is_check, "Fail where unibuf moves more than the least");
    told.flag("--list", is_list, "Only show the names");
    if (const auto status = told.read(argc, argv)) return *status;

    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    bool any = false;
    for (const entry& each : programs()) {
        if (!only.empty() && each.name != only) continue;
        any = true;
        if (is_list) {
            std::puts(each.name.c_str());
            continue;
        }
        const scale size = is_small ? scale::small : scale::full;
        if (is_check) check_moves_the_least(each, *each.make(unibuf::space(where), size));
        for (const auto& row : rows_of(each, unibuf::space(where), size, rounds)) {
            std::printf("%-16s %-14s %12llu bytes, %5.2f of the least %9.4f s, %5.2f of the expert's\n",
                        each.name.c_str(), row["version"].get<std::string>().c_str(),
                        row["bytes"].get<unsigned long long>(), row["bytes"].get<double>() / row["least"].get<double>(),
                        row["seconds"].get<double>(), row["against_expert"].get<double>());
            all.push_back(row);
        }
        std::fflush(stdout);
    }
    if (!any) throw std::invalid_argument("the suite has no program '" + only + "': --list shows them");
    if (!json.empty() && !(std::ofstream(json) << all.dump(4) << '\n'))
        throw std::runtime_error("cannot write " + json);
    return 0;
}

}  // namespace
}  // namespace suite

int main(int argc, char** argv) {
    try {
        return suite::run_all(argc, argv);
    } catch (const unibuf::error& failure) {
        std::fprintf(stderr, "unibuf_suite: %s\n", failure.what());
        return failure.code() == unibuf::error_code::device_unavailable ? 77 : 1;  // CTest takes 77 for a skip
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "unibuf_suite: %s\n", failure.what());
        return 1;
    }
}
