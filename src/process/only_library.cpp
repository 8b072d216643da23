// process/only_library.cpp
#include "process/only_library.hpp"

#include <fmt/format.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "unibuf/error.hpp"

namespace unibuf::process {

namespace {

struct libraries {
    std::string first;
    std::string own;
};

bool holds(const dl_phdr_info& library, std::uintptr_t address) noexcept {
    for (std::size_t i = 0; i < library.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = library.dlpi_phdr[i];
        if (part.p_type == PT_LOAD && address - (library.dlpi_addr + part.p_vaddr) < part.p_memsz) return true;
    }
    return false;
}

/// Packagers put a hash before the version: libunibuf-1a2b.so.0.1.
bool is_unibuf(std::string_view path) noexcept {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return name.starts_with("libunibuf.so") || name.starts_with("libunibuf-");
}

/// Is called for each library in the order in which they were loaded, until it returns 1.
int look_at(dl_phdr_info* library, std::size_t, void* found) {
    auto& seen = *static_cast<libraries*>(found);
    if (holds(*library, reinterpret_cast<std::uintptr_t>(&refuse_second_library))) {
        seen.own = library->dlpi_name;
        return 1;
    }
    if (seen.first.empty() && is_unibuf(library->dlpi_name)) seen.first = library->dlpi_name;
    return 0;
}

}  // namespace

void refuse_second_library() {
    static const bool is_first = [] {
        libraries seen;
        ::dl_iterate_phdr(look_at, &seen);
        if (seen.first.empty()) return true;
        throw error(
            error_code::unsupported,
            fmt::format("a process has one unibuf: {} was loaded before {}; build both parts of the program with "
                        "the same install",
                        seen.first, seen.own));
    }();
    static_cast<void>(is_first);
}

}  // namespace unibuf::process
