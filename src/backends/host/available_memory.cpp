// backends/host/available_memory.cpp
#include "backends/host/available_memory.hpp"

#include <fstream>
#include <limits>
#include <string>

namespace unibuf::backends {

std::optional<std::uint64_t> available_memory() {
    std::ifstream lines("/proc/meminfo");
    for (std::string name; lines >> name; lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
        if (name != "MemAvailable:") continue;
        std::uint64_t kib = 0;
        if (lines >> kib) return kib * 1024;
    }
    return {};
}

}  // namespace unibuf::backends
