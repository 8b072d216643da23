// bench/cost/count.cpp
#include "count.hpp"

#include <dlfcn.h>

#include <cinttypes>
#include <cstdio>
#include <map>

namespace cost {
namespace {

void print(const char* column, const std::vector<counts>& all, std::uint64_t counts::* value) {
    std::printf(R"(, "%s": [)", column);
    for (std::size_t i = 0; i < all.size(); ++i) std::printf("%s%" PRIu64, i == 0 ? "" : ", ", all[i].*value);
    std::printf("]");
}

void print_places() {
    std::map<std::uint64_t, int> times;
    for (const std::uint64_t each : places_of_steps()) ++times[each];
    for (const auto& [address, count] : times) {
        Dl_info in{};
        ::dladdr(reinterpret_cast<const void*>(address), &in);
        const auto base = reinterpret_cast<std::uint64_t>(in.dli_fbase);
        std::printf("%d %s %#" PRIx64 "\n", count, in.dli_fname ? in.dli_fname : "?", address - base);
    }
}

}  // namespace

void print(const std::string& name, const std::vector<counts>& nothing, const std::vector<counts>& all) {
    std::printf(R"({"operation": "%s")", name.c_str());
    print("nothing", nothing, &counts::instructions);
    print("instructions", all, &counts::instructions);
    print("locked", all, &counts::locked);
    print("system_calls", all, &counts::system_calls);
    print("allocations", all, &counts::allocations);
    print("driver_calls", all, &counts::driver_calls);
    std::printf("}\n");
    print_places();
}

}  // namespace cost
