// backends/host/available_memory.cpp: what of the machine's memory this process may have.
#include "backends/host/available_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace unibuf::backends {
namespace {

std::optional<std::uint64_t> number(const std::string& word) {
    std::uint64_t result = 0;
    const char* const end = word.data() + word.size();
    const auto [read, failed] = std::from_chars(word.data(), end, result);
    if (failed != std::errc() || read != end) return {};
    return result;
}

/// Returns the number in a file that holds nothing else. Nothing where the file says "max".
std::optional<std::uint64_t> number_in(const std::string& file) {
    std::ifstream words(file);
    std::string word;
    std::string another;
    if (!(words >> word) || words >> another) return {};
    return number(word);
}

/// Returns the number in the line that begins with `name`.
std::optional<std::uint64_t> number_of(std::string_view name, const std::string& file) {
    std::ifstream lines(file);
    for (std::string word; lines >> word; lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
        if (word == name && lines >> word) return number(word);
    }
    return {};
}

/// The names that a version of cgroups uses, and where systems mount it.
struct version {
    const char* mount;
    const char* most;
    const char* unslowed;  // a group with more is slowed down; null where there is no such limit
    const char* used;
    const char* reclaimable;  // in memory.stat, for the group and all below: file cache that nobody has used for long
};

constexpr version version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", nullptr, "memory.usage_in_bytes",
                               "total_inactive_file"};
constexpr version version_2 = {"/sys/fs/cgroup", "memory.max", "memory.high", "memory.current", "inactive_file"};

struct membership {
    const version* of;
    std::string group;  // "/", or "/a/b"
};

/// Finds the process's group in "4:cpu,memory:/a/b" or "0::/a/b". Where both versions are there, version 1 has the
/// memory, and version 2 does not count it.
std::optional<membership> own_group(const std::string& cgroups) {
    std::optional<membership> result;
    std::ifstream lines(cgroups);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        std::string group = line.substr(second + 1);
        // A group outside of the namespace cannot be seen, so the namespace's own is taken.
        if (!group.starts_with('/') || (group + '/').find("/../") != std::string::npos) group = "/";
        if (controllers.find(",memory,") != std::string::npos) return membership{&version_1, std::move(group)};
        if (line.starts_with("0::")) result = {&version_2, std::move(group)};
    }
    return result;
}

void limit(available& within, const version& names, const std::string& root, const std::string& group) {
    const std::string folder = root + names.mount + group + '/';
    auto& [total, free] = within.memory;
    const std::optional<std::uint64_t> most = number_in(folder + names.most);
    if (most && *most < total) {
        total = *most;
        within.cgroup = group;
    }
    std::optional<std::uint64_t> unslowed = most;
    if (names.unslowed) {
        const std::optional<std::uint64_t> high = number_in(folder + names.unslowed);
        if (high && (!most || *high < *most)) unslowed = high;
    }
    if (!free || !unslowed) return;
    std::uint64_t used = number_in(folder + names.used).value_or(0);
    used -= std::min(used, number_of(names.reclaimable, folder + "memory.stat").value_or(0));
    free = std::min(*free, *unslowed - std::min(*unslowed, used));
}

}  // namespace

available available_memory() {
    memory_info machine{.total = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                 static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
                        .free = {}};
    if (const auto kib = number_of("MemAvailable:", "/proc/meminfo")) machine.free = *kib * 1024;
    return within_cgroups(machine, "");
}

std::uint64_t host_memory_left(const std::string& root) {
    memory_info machine{.total = std::numeric_limits<std::uint64_t>::max(), .free = {}};
    const std::string known = root + "/proc/meminfo";
    if (const auto kib = number_of("MemAvailable:", known))
        machine.free = (*kib + number_of("SwapFree:", known).value_or(0)) * 1024;
    const memory_info left = within_cgroups(machine, root).memory;
    return left.free.value_or(left.total);
}

available within_cgroups(const memory_info& machine, const std::string& root) {
    available result{.memory = machine, .cgroup = {}};
    const std::optional<membership> own = own_group(root + "/proc/self/cgroup");
    if (!own) return result;
    // In a container the path may be the machine's, and the mount the container's own group. A folder that is not there
    // limits nothing, and the mount itself is always looked at.
    for (std::string group = own->group;; group.resize(std::max<std::size_t>(group.rfind('/'), 1))) {
        limit(result, *own->of, root, group);
        if (group == "/") return result;
    }
}

}  // namespace unibuf::backends
