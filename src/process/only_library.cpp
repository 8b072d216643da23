// process/only_library.cpp: one unibuf for all parts of a process.
#include "process/only_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "system/images.hpp"
#include "unibuf/error.hpp"

namespace unibuf::process {

namespace {

struct libraries {
    std::vector<std::string> earlier;
    std::string own;
};

/// Returns this library, and those that were loaded before it.
libraries loaded() {
    libraries result;
    system::for_each_image([&](const system::image& each) {
        const bool is_own = each.has(reinterpret_cast<const void*>(&refuse_second_library));
        if (is_own) {
            result.own = each.path;
        } else {
            result.earlier.emplace_back(each.path);
        }
        return !is_own;
    });
    return result;
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
    if (name.starts_with("libunibuf.") || name.starts_with("libunibuf-")) return true;
    return name.starts_with("_native.") && has_library_inside(path);
}

}  // namespace

void refuse_second_library() {
    static const bool is_first = [] {
        const libraries seen = loaded();
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
