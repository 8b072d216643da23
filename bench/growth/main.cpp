// bench/growth/main.cpp: unibuf_growth, which counts what one work costs among so many others.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string_view>

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

std::size_t number_in(const char* text) {
    std::size_t found = 0;
    const char* const end = text + std::strlen(text);
    const auto [behind, failure] = std::from_chars(text, end, found);
    if (behind != end || failure != std::errc{} || found == 0) {
        throw std::invalid_argument(std::string("not a number of objects: ") + text);
    }
    return found;
}

int run(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == "--list") {
        for (const auto& [name, each] : curves()) std::printf("%s %g\n", name.c_str(), each.goal);
        return 0;
    }
    if (argc != 3) throw std::invalid_argument("usage: unibuf_growth --list | WORK ALIVE");
    const auto found = curves().find(argv[1]);
    if (found == curves().end()) throw std::invalid_argument(std::string("no work is called ") + argv[1]);
    const std::size_t alive = number_in(argv[2]);
    return cost::counted_status([&] {
        const std::function<void()> work = found->second.make(alive);
        cost::prepare_steps();
        const auto nothing = cost::counted(0, [] {}, [] {});
        cost::print(found->first, nothing, cost::counted(warm_up, [] {}, work));
    });
}

}  // namespace
}  // namespace growth

int main(int argc, char** argv) {
    return cost::status_of("unibuf_growth", [&] { return growth::run(argc, argv); });
}
