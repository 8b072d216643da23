// process/only_library.cpp
#include "process/only_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unibuf/error.hpp"

namespace unibuf::process {

namespace {

struct libraries {
    std::vector<std::string> earlier;
    std::string own;
};

bool holds(const dl_phdr_info& library, std::uintptr_t address) noexcept {
    for (std::size_t i = 0; i < library.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = library.dlpi_phdr[i];
        if (part.p_type == PT_LOAD && address - (library.dlpi_addr + part.p_vaddr) < part.p_memsz) return true;
    }
    return false;
}

/// Is called for each library in the order in which they were loaded, until it returns 1.
int look_at(dl_phdr_info* library, std::size_t, void* found) {
    auto& seen = *static_cast<libraries*>(found);
    if (holds(*library, reinterpret_cast<std::uintptr_t>(&refuse_second_library))) {
        seen.own = library->dlpi_name;
        return 1;
    }
    seen.earlier.emplace_back(library->dlpi_name);
    return 0;
}

/// Returns whether the Python module that was loaded from `path` has a library inside, as it says by this symbol.
bool has_library_inside(const std::string& path) {
    void* const module = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!module) return false;
    const bool has = ::dlsym(module, "unibuf_is_inside") != nullptr;
    ::dlclose(module);
    return has;
}

bool is_unibuf(const std::string& path) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    // Packagers put a hash before the version: libunibuf-1a2b.so.0.1.
    if (name.starts_with("libunibuf.so") || name.starts_with("libunibuf-")) return true;
    return name.starts_with("_native.") && has_library_inside(path);
}

}  // namespace

void refuse_second_library() {
    static const bool is_first = [] {
        libraries seen;
        ::dl_iterate_phdr(look_at, &seen);
        const auto first = std::ranges::find_if(seen.earlier, is_unibuf);
        if (first == seen.earlier.end()) return true;
        throw error(
            error_code::unsupported,
            fmt::format("a process has one unibuf: {} was loaded before {}; build both parts of the program with "
                        "the same install",
                        *first, seen.own));
    }();
    static_cast<void>(is_first);
}

}  // namespace unibuf::process
