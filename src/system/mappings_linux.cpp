// system/mappings_linux.cpp: what the process has mapped, on Linux.
#include "system/mappings.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <ios>
#include <optional>
#include <string>

namespace unibuf::system {
namespace {

// This is newer than the headers of many systems: <linux/fs.h> of Linux 6.11 has it.
struct mapping_query {
    std::uint64_t size = sizeof(mapping_query);
    std::uint64_t flags = 0;
    std::uint64_t address = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t is = 0;
    std::uint64_t page_size = 0;
    std::uint64_t offset = 0;
    std::uint64_t inode = 0;
    std::uint32_t device[2] = {};
    std::uint32_t name_size = 0;
    std::uint32_t build_id_size = 0;
    std::uint64_t name = 0;
    std::uint64_t build_id = 0;
};
static_assert(sizeof(mapping_query) == 104);

constexpr unsigned long procmap_query = _IOWR('f', 17, mapping_query);
constexpr std::uint64_t is_shared = 8;

struct mapping {
    std::uintptr_t end = 0;
    bool shared = false;
};

/// Asks the kernel; nothing where it does not answer.
std::optional<mapping> ask(int maps, std::uintptr_t address) {
    mapping_query query;
    query.address = address;
    if (::ioctl(maps, procmap_query, &query) != 0) return {};
    return mapping{query.end, (query.is & is_shared) != 0};
}

/// Returns whether the mappings of [begin, end) in /proc/self/maps are private, and there are no gaps.
bool reads_as_private(std::uintptr_t begin, std::uintptr_t end) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; begin < end && std::getline(maps, line);) {
        std::size_t read = 0;
        const auto from = static_cast<std::uintptr_t>(std::stoull(line, &read, 16));
        const std::size_t second = read + 1;
        const auto to = static_cast<std::uintptr_t>(std::stoull(line.substr(second), &read, 16));
        if (to <= begin) continue;
        const bool is_private = line.at(second + read + 4) == 'p';  // as in "7f00-7f10 rw-p"
        if (from > begin || !is_private) return false;
        begin = to;
    }
    return begin >= end;
}

}  // namespace

bool is_private(std::span<const std::byte> memory) {
    auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t end = at + memory.size();
    const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0) return false;
    std::optional<mapping> found;
    while (at < end && (found = ask(maps, at)) && !found->shared) at = found->end;
    ::close(maps);
    return at >= end || (!found && reads_as_private(at, end));
}

}  // namespace unibuf::system
