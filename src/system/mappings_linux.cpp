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
constexpr std::uint64_t is_readable = 1;
constexpr std::uint64_t is_writable = 2;
constexpr std::uint64_t is_executable = 4;
constexpr std::uint64_t is_shared = 8;

struct mapping {
    std::uintptr_t end = 0;
    std::uint64_t is = 0;  // of the flags above
};

/// Asks the kernel; nothing where it does not answer.
std::optional<mapping> ask(int maps, std::uintptr_t address) {
    mapping_query query;
    query.address = address;
    if (::ioctl(maps, procmap_query, &query) != 0) return {};
    return mapping{query.end, query.is};
}

/// Returns whether the mappings of [begin, end) in /proc/self/maps are as asked, and there are no gaps.
template <class AsAsked>
bool reads_as(std::uintptr_t begin, std::uintptr_t end, const AsAsked& as_asked) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; begin < end && std::getline(maps, line);) {
        std::size_t read = 0;
        const auto from = static_cast<std::uintptr_t>(std::stoull(line, &read, 16));
        const std::size_t second = read + 1;
        const auto to = static_cast<std::uintptr_t>(std::stoull(line.substr(second), &read, 16));
        if (to <= begin) continue;
        const std::size_t flags = second + read + 1;  // as in "7f00-7f10 rw-p"
        const auto has = [&](std::size_t at, char letter, std::uint64_t flag) {
            return line.at(flags + at) == letter ? flag : 0;
        };
        const std::uint64_t is =
            has(0, 'r', is_readable) | has(1, 'w', is_writable) | has(2, 'x', is_executable) | has(3, 's', is_shared);
        if (from > begin || !as_asked(is)) return false;
        begin = to;
    }
    return begin >= end;
}

template <class AsAsked>
bool all_are(std::span<const std::byte> memory, const AsAsked& as_asked) {
    auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t end = at + memory.size();
    const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0) return false;
    std::optional<mapping> found;
    while (at < end && (found = ask(maps, at)) && as_asked(found->is)) at = found->end;
    ::close(maps);
    return at >= end || (!found && reads_as(at, end, as_asked));
}

}  // namespace

bool is_private(std::span<const std::byte> memory) {
    return all_are(memory, [](std::uint64_t is) { return (is & is_shared) == 0; });
}

bool is_private_data(std::span<const std::byte> memory) {
    return all_are(memory, [](std::uint64_t is) { return is == (is_readable | is_writable); });
}

}  // namespace unibuf::system
