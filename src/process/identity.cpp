// process/identity.cpp: which process is meant, where numbers of processes come round.
#include "process/identity.hpp"

#include <unistd.h>

#include <atomic>

#include "system/processes.hpp"

namespace unibuf::process {

namespace {

identity identity_of(std::uint32_t process) { return system::begin_of(process) << 32 | process; }

}  // namespace

identity this_process() {
    static std::atomic<identity> known;  // a forked child has an identity of its own
    const auto number = static_cast<std::uint32_t>(::getpid());
    identity found = known.load(std::memory_order_relaxed);
    if (number_of(found) != number) {
        found = identity_of(number);
        known.store(found, std::memory_order_relaxed);
    }
    return found;
}

bool is_alive(identity process) { return process != 0 && identity_of(number_of(process)) == process; }

}  // namespace unibuf::process
