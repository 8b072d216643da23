// process/identity.cpp: which process is meant, where numbers of processes come round.
#include "process/identity.hpp"

#include <unistd.h>

#include <atomic>
#include <optional>

#include "system/processes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::process {

identity this_process() {
    static std::atomic<identity> known;  // a forked child has an identity of its own
    const auto number = static_cast<std::uint32_t>(::getpid());
    identity found = known.load(std::memory_order_relaxed);
    if (number_of(found) != number) {
        const std::optional<std::uint64_t> begin = system::begin_of(number);
        if (!begin || *begin == 0) {
            throw error(error_code::unsupported,
                        "the system does not tell when this process began, which other processes know it by: can it "
                        "open files?");
        }
        found = *begin << 32 | number;
        known.store(found, std::memory_order_relaxed);
    }
    return found;
}

bool is_alive(identity process) {
    if (process == number_of(process)) return false;  // none, or one that has lost what it held: see peers::lose
    const std::optional<std::uint64_t> begin = system::begin_of(number_of(process));
    return !begin || (*begin << 32 | number_of(process)) == process;
}

}  // namespace unibuf::process
