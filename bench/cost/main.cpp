// bench/cost/main.cpp: unibuf_cost, which counts what one operation costs.
#include <cstdio>
#include <stdexcept>
#include <string_view>

#include "operation.hpp"
#include "program.hpp"

namespace cost {

std::map<std::string, counting>& operations() {
    static std::map<std::string, counting> all;
    return all;
}

namespace {

int run(int argc, char** argv) {
    if (argc != 2) throw std::invalid_argument("usage: unibuf_cost --list | OPERATION");
    if (std::string_view(argv[1]) == "--list") {
        for (const auto& each : operations()) std::puts(each.first.c_str());
        return 0;
    }
    const auto found = operations().find(argv[1]);
    if (found == operations().end()) throw std::invalid_argument(std::string("no operation is called ") + argv[1]);

    return counted_status([&] { found->second(found->first.c_str()); });
}

}  // namespace
}  // namespace cost

int main(int argc, char** argv) {
    return cost::status_of("unibuf_cost", [&] { return cost::run(argc, argv); });
}
