// bench/cost/main.cpp: unibuf_cost, which counts what one operation costs.
#include <unibuf/error.hpp>

#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "operation.hpp"

namespace cost {

std::map<std::string, counting>& operations() {
    static std::map<std::string, counting> all;
    return all;
}

namespace {

constexpr int lacking = 77;  // the exit status where the machine lacks what an operation needs

int run(int argc, char** argv) {
    if (argc != 2) throw std::invalid_argument("usage: unibuf_cost --list | OPERATION");
    if (std::string_view(argv[1]) == "--list") {
        for (const auto& each : operations()) std::puts(each.first.c_str());
        return 0;
    }
    const auto found = operations().find(argv[1]);
    if (found == operations().end()) throw std::invalid_argument(std::string("no operation is called ") + argv[1]);

    // A program of one thread is spared the atomic instructions of mutexes and shared pointers; users have more.
    const std::jthread second([](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock lock(mutex);
        never.wait(lock, stop, [] { return false; });
    });
    try {
        found->second(found->first.c_str());
    } catch (const unibuf::error& failure) {
        if (failure.code() != unibuf::error_code::device_unavailable) throw;
        std::puts(failure.what());
        return lacking;
    }
    return 0;
}

}  // namespace
}  // namespace cost

int main(int argc, char** argv) {
    try {
        return cost::run(argc, argv);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "unibuf_cost: %s\n", failure.what());
        return 1;
    }
}
