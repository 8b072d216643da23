// process/forks.cpp: whether a process still is the one that it was.
#include "process/forks.hpp"

#include <pthread.h>

namespace unibuf::process {

int forks() noexcept {
    [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++fork_count; });
    return fork_count.load(std::memory_order_relaxed);
}

}  // namespace unibuf::process
