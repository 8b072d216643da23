// bench/growth/main.cpp: unibuf_growth, which counts what one work costs among so many others.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "count.hpp"
#include "curve.hpp"
#include "program.hpp"

namespace growth {

std::map<std::string, declared>& curves() {
    static std::map<std::string, declared> all;
    return all;
}

namespace {

constexpr int warm_up = 20;  // until memory is used again

const char* name_of(growing goal) {
    switch (goal) {
        case flat:
            return "flat";
        case logarithmic:
            return "logarithmic";
        case linear:
            return "linear";
    }
    return "";
}

std::size_t number_in(const char* text) {
    std::size_t found = 0;
    const char* const end = text + std::strlen(text);
    const auto [behind, failure] = std::from_chars(text, end, found);
    if (behind != end || failure != std::errc{} || found == 0) {
        throw std::invalid_argument(std::string("not a number of objects: ") + text);
    }
    return found;
}

/// Counts the instructions of the work; of a long one once, as a step of it takes microseconds.
void count(const std::string& name, const std::function<void()>& work) {
    constexpr std::uint64_t long_from = 1'000'000;
    cost::prepare_steps();
    const auto nothing = cost::counted(0, [] {}, [] {});
    auto all = cost::counted(warm_up, [] {}, work, 1);
    if (all.front().instructions < long_from) all = cost::counted(0, [] {}, work);
    cost::print(name, nothing, all);
}

/// Returns the median time of the work, of a fifth of a second or ten times.
double nanoseconds_of(const std::function<void()>& work) {
    using clock = std::chrono::steady_clock;
    for (int i = 0; i < warm_up; ++i) work();
    std::vector<double> all;
    const clock::time_point end = clock::now() + std::chrono::milliseconds(200);
    for (clock::time_point begin = clock::now(); all.size() < 10 || begin < end;) {
        work();
        const clock::time_point next = clock::now();
        all.push_back(std::chrono::duration<double, std::nano>(next - begin).count());
        begin = next;
    }
    std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
    return all[all.size() / 2];
}

int run(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == "--list") {
        for (const auto& [name, each] : curves()) std::printf("%s %s\n", name.c_str(), name_of(each.goal));
        return 0;
    }
    const bool is_timed = argc == 4 && std::string_view(argv[1]) == "--time";
    if (argc != 3 && !is_timed) throw std::invalid_argument("usage: unibuf_growth --list | [--time] WORK ALIVE");
    const char* const name = argv[argc - 2];
    const auto found = curves().find(name);
    if (found == curves().end()) throw std::invalid_argument(std::string("no work is called ") + name);
    const std::size_t alive = number_in(argv[argc - 1]);
    return cost::counted_status([&] {
        const std::function<void()> work = found->second.make(alive);
        if (is_timed) {
            std::printf("%.0f", nanoseconds_of(work));
            if (found->second.by_hand) std::printf(" %.0f", nanoseconds_of(found->second.by_hand(alive)));
            std::puts("");
        } else {
            count(found->first, work);
        }
    });
}

}  // namespace
}  // namespace growth

int main(int argc, char** argv) {
    return cost::status_of("unibuf_growth", [&] { return growth::run(argc, argv); });
}
