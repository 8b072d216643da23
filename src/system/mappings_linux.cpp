// system/mappings_linux.cpp: what the process has mapped, on Linux.
#include "system/mappings.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
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
constexpr std::uint64_t is_readable = 1;
constexpr std::uint64_t is_writable = 2;
constexpr std::uint64_t is_executable = 4;
constexpr std::uint64_t is_shared = 8;

constexpr common_traits not_mapped{
    .all_private = false, .all_readable = false, .all_writable = false, .any_executable = false};

/// Notes one mapping that has the flags `is`.
void add(common_traits& to, std::uint64_t is) noexcept {
    to.all_private = to.all_private && (is & is_shared) == 0;
    to.all_readable = to.all_readable && (is & is_readable) != 0;
    to.all_writable = to.all_writable && (is & is_writable) != 0;
    to.any_executable = to.any_executable || (is & is_executable) != 0;
}

/// Reads /proc/self/maps for [begin, end), and adds what it says. Returns false where it cannot be read.
bool read_maps(std::uintptr_t begin, std::uintptr_t end, common_traits& to) {
    std::ifstream maps("/proc/self/maps");
    if (!maps) return false;
    for (std::string line; begin < end && std::getline(maps, line);) {
        std::size_t read = 0;
        const auto from = static_cast<std::uintptr_t>(std::stoull(line, &read, 16));
        const std::size_t second = read + 1;
        const auto until = static_cast<std::uintptr_t>(std::stoull(line.substr(second), &read, 16));
        if (until <= begin) continue;
        if (from > begin) break;
        const std::size_t flags = second + read + 1;  // as in "7f00-7f10 rw-p"
        const auto has = [&](std::size_t at, char letter, std::uint64_t flag) {
            return line.at(flags + at) == letter ? flag : 0;
        };
        add(to,
            has(0, 'r', is_readable) | has(1, 'w', is_writable) | has(2, 'x', is_executable) | has(3, 's', is_shared));
        begin = until;
    }
    if (begin < end) to = not_mapped;
    return true;
}

}  // namespace

std::optional<common_traits> mappings_of(std::span<const std::byte> memory) {
    auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t end = at + memory.size();
    common_traits result;
    if (const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC); maps >= 0) {
        mapping_query query;
        for (; at < end; at = query.end) {
            query = {.address = at};
            if (::ioctl(maps, procmap_query, &query) != 0) break;  // an old kernel, or a gap
            add(result, query.is);
        }
        ::close(maps);
    }
    return at >= end || read_maps(at, end, result) ? std::optional(result) : std::nullopt;
}

std::size_t most_mappings() {
    std::size_t most = 65530;  // Linux's own limit, where the system does not say
    std::ifstream("/proc/sys/vm/max_map_count") >> most;
    return most;
}

}  // namespace unibuf::system
