// process/forks.cpp
#include "process/forks.hpp"

#include <pthread.h>

#include <atomic>

namespace unibuf::process {

namespace {

std::atomic<int> count{0};

}  // namespace

int forks() noexcept {
    [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++count; });
    return count.load(std::memory_order_relaxed);
}

}  // namespace unibuf::process
