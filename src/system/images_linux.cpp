// system/images_linux.cpp: the program and the libraries that are loaded, on Linux.
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>

#include "system/images.hpp"

namespace unibuf::system {

void for_each_image(const std::function<bool(const image&)>& visit) {
    struct visitor {
        const std::function<bool(const image&)>& visit;
        std::exception_ptr failure;
    } visiting{visit, nullptr};
    ::dl_iterate_phdr(
        [](dl_phdr_info* of, std::size_t, void* by) {
            auto& [call, failure] = *static_cast<visitor*>(by);
            image found{.path = of->dlpi_name, .begin = 0, .end = 0};
            for (int i = 0; i < of->dlpi_phnum; ++i) {
                const auto& segment = of->dlpi_phdr[i];
                if (segment.p_type != PT_LOAD) continue;
                const std::uintptr_t first = of->dlpi_addr + segment.p_vaddr;
                found.begin = found.end == 0 ? first : std::min(found.begin, first);
                found.end = std::max(found.end, first + segment.p_memsz);
            }
            try {
                return call(found) ? 0 : 1;
            } catch (...) {
                failure = std::current_exception();
                return 1;
            }
        },
        &visiting);
    if (visiting.failure) std::rethrow_exception(visiting.failure);
}

std::string program() {
    std::array<char, 4096> path{};
    return ::readlink("/proc/self/exe", path.data(), path.size() - 1) > 0 ? path.data() : std::string();
}

/// A program that is not position-independent has the addresses that it has in memory.
std::uintptr_t address_in_file(const void* address, const void* loaded_at) noexcept {
    const auto* const header = static_cast<const ElfW(Ehdr)*>(loaded_at);
    const auto begin = header->e_type == ET_EXEC ? 0 : reinterpret_cast<std::uintptr_t>(loaded_at);
    return reinterpret_cast<std::uintptr_t>(address) - begin;
}

}  // namespace unibuf::system
