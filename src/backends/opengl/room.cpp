// backends/opengl/room.cpp: from /proc/meminfo, and from the limits of the process's control group.
#include "backends/opengl/room.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace unibuf::backends {

namespace {

std::optional<std::uint64_t> number_in(const std::string& file) {
    std::ifstream in(file);
    std::uint64_t value = 0;
    if (in >> value) return value;
    return std::nullopt;
}

std::optional<std::uint64_t> left_in_system() {
    std::ifstream in("/proc/meminfo");
    std::string key;
    std::string unit;
    std::uint64_t kib = 0;
    std::uint64_t sum = 0;
    bool found = false;
    while (in >> key >> kib && std::getline(in, unit)) {
        if (key != "MemAvailable:" && key != "SwapFree:") continue;
        sum += kib * 1024;
        found = true;
    }
    if (!found) return std::nullopt;
    return sum;
}

/// Containers see their group at the root of the tree.
std::optional<std::uint64_t> left_in_group() {
    const std::string root = "/sys/fs/cgroup/";
    auto limit = number_in(root + "memory.max");
    auto used = number_in(root + "memory.current");
    if (!limit) limit = number_in(root + "memory/memory.limit_in_bytes");
    if (!used) used = number_in(root + "memory/memory.usage_in_bytes");
    if (!limit || !used) return std::nullopt;
    return *limit - std::min(*limit, *used);
}

}  // namespace

std::uint64_t host_memory_left() {
    constexpr auto unknown = std::numeric_limits<std::uint64_t>::max();
    return std::min(left_in_system().value_or(unknown), left_in_group().value_or(unknown));
}

}  // namespace unibuf::backends
