// system/images_macos.cpp: the program and the libraries that are loaded, on macOS.
#include <mach-o/dyld.h>
#include <mach-o/loader.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "system/images.hpp"

namespace unibuf::system {
namespace {

constexpr std::string_view linked = "__LINKEDIT";  // tables that all libraries of the system's cache share
constexpr std::string_view unmapped = "__PAGEZERO";

/// Returns the addresses of an image, which `slide` moved from those in its file.
image image_of(const mach_header_64& header, std::intptr_t slide, const char* path) {
    image result{.path = path, .begin = 0, .end = 0};
    const auto* next = reinterpret_cast<const std::byte*>(&header + 1);
    for (std::uint32_t i = 0; i < header.ncmds; ++i) {
        load_command command;
        std::memcpy(&command, next, sizeof command);
        if (command.cmd == LC_SEGMENT_64) {
            segment_command_64 segment;
            std::memcpy(&segment, next, sizeof segment);
            const std::string_view name(segment.segname, ::strnlen(segment.segname, sizeof segment.segname));
            const std::uintptr_t first = segment.vmaddr + static_cast<std::uintptr_t>(slide);
            if (name != linked && name != unmapped) {
                result.begin = result.end == 0 ? first : std::min(result.begin, first);
                result.end = std::max<std::uintptr_t>(result.end, first + segment.vmsize);
            }
        }
        next += command.cmdsize;
    }
    return result;
}

}  // namespace

void for_each_image(const std::function<bool(const image&)>& visit) {
    const std::uint32_t count = ::_dyld_image_count();
    for (std::uint32_t i = 0; i < count; ++i) {
        const mach_header* const header = ::_dyld_get_image_header(i);
        const char* const path = ::_dyld_get_image_name(i);
        if (!header || !path || header->magic != MH_MAGIC_64) continue;  // one that has just been unloaded has none
        const auto& wide = *reinterpret_cast<const mach_header_64*>(header);
        if (!visit(image_of(wide, ::_dyld_get_image_vmaddr_slide(i), path))) return;
    }
}

std::string program() {
    std::array<char, 4096> path{};
    auto room = static_cast<std::uint32_t>(path.size());
    return ::_NSGetExecutablePath(path.data(), &room) == 0 ? path.data() : std::string();
}

std::uintptr_t address_in_file(const void* address, const void* loaded_at) noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(loaded_at);
}

}  // namespace unibuf::system
