// backends/opengl/room.cpp: reads /proc/meminfo, and the limits of the process's control group.
#include "backends/opengl/room.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace unibuf::backends {

namespace {

std::optional<std::uint64_t> number_in(const std::string& file) {
    std::ifstream in(file);
    std::uint64_t value = 0;
    if (in >> value) return value;
    return std::nullopt;
}

/// Returns the number behind a key, in a file whose lines begin with a key and a number.
std::optional<std::uint64_t> number_of(std::string_view key, const std::string& file) {
    std::ifstream in(file);
    std::string found;
    std::string rest;
    std::uint64_t value = 0;
    while (in >> found >> value && std::getline(in, rest)) {
        if (found == key) return value;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> left_in_system(const std::string& root) {
    const std::string file = root + "/proc/meminfo";
    const auto available = number_of("MemAvailable:", file);
    if (!available) return std::nullopt;
    return (*available + number_of("SwapFree:", file).value_or(0)) * 1024;
}

/// Returns what is left within the limit of the group, which containers see at the root of the tree. What the group
/// uses includes files that the system drops when it needs the room.
std::optional<std::uint64_t> left_in_group(const std::string& root) {
    const std::string v2 = root + "/sys/fs/cgroup/";
    const std::string v1 = v2 + "memory/";
    auto limit = number_in(v2 + "memory.max");
    auto used = number_in(v2 + "memory.current");
    auto files = number_of("inactive_file", v2 + "memory.stat");
    if (!limit) limit = number_in(v1 + "memory.limit_in_bytes");
    if (!used) used = number_in(v1 + "memory.usage_in_bytes");
    if (!files) files = number_of("total_inactive_file", v1 + "memory.stat");
    if (!limit || !used) return std::nullopt;
    const std::uint64_t taken = *used - std::min(*used, files.value_or(0));
    return *limit - std::min(*limit, taken);
}

}  // namespace

std::uint64_t host_memory_left(const std::string& root) {
    constexpr auto unknown = std::numeric_limits<std::uint64_t>::max();
    return std::min(left_in_system(root).value_or(unknown), left_in_group(root).value_or(unknown));
}

}  // namespace unibuf::backends
