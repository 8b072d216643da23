// bench/cost/program.hpp: what the programs that count have in common.
#pragma once

#include <unibuf/error.hpp>

#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <thread>

namespace cost {

inline constexpr int lacking = 77;  // the exit status where the machine lacks what is to be counted

/// Counts beside a second thread: a program of one thread is spared the atomic instructions of mutexes and shared
/// pointers, and users have more. Returns the exit status.
template <class Count>
int counted_status(const Count& count) {
    const std::jthread second([](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock lock(mutex);
        never.wait(lock, stop, [] { return false; });
    });
    try {
        count();
    } catch (const unibuf::error& failure) {
        if (failure.code() != unibuf::error_code::device_unavailable) throw;
        std::puts(failure.what());
        return lacking;
    }
    return 0;
}

/// Returns what run() returns; says what it throws, as the program of that name.
template <class Run>
int status_of(const char* program, const Run& run) {
    try {
        return run();
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s: %s\n", program, failure.what());
        return 1;
    }
}

}  // namespace cost
