// process/identity.cpp
#include "process/identity.hpp"

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace unibuf::process {

namespace {

/// Returns when a process began, in ticks of the system; 0 where there is none of that number.
std::uint64_t begin_of(std::uint32_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t end_of_name = text.rfind(')');
    if (end_of_name == std::string::npos) return 0;
    std::istringstream fields(text.substr(end_of_name + 1));
    std::string state;
    fields >> state;
    if (state == "Z" || state == "X") return 0;
    constexpr int between = 18;  // the state is field 3 of proc_pid_stat(5), the begin field 22
    std::string skipped;
    for (int i = 0; i < between; ++i) fields >> skipped;
    std::uint64_t begin = 0;
    fields >> begin;
    return begin;
}

identity identity_of(std::uint32_t process) { return begin_of(process) << 32 | process; }

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
