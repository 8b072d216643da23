// trace/tools.cpp: tells other tools of copies and allocations, where the environment asks for that.
#include "trace/tools.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "system/loader.hpp"

/// What tools for Kokkos call a space. They declare it themselves, by this name, and take it by value.
struct Kokkos_Profiling_SpaceHandle {  // NOLINT(readability-identifier-naming)
    char name[64];
};

namespace unibuf::trace {
namespace {

using space_handle = Kokkos_Profiling_SpaceHandle;

space_handle handle_of(space where) {
    space_handle result{};
    const std::string& name = where.name();
    std::copy_n(name.begin(), std::min(name.size(), sizeof result.name - 1), result.name);
    return result;
}

std::string name_of(std::uint64_t buffer) { return "unibuf buffer #" + std::to_string(buffer); }

/// A library with functions that Kokkos would call; it has those that it wants to be called.
struct kokkos_tool {
    static constexpr std::uint64_t interface_version = 20200625;

    using begin_copy_function = void(space_handle, const char*, const void*, space_handle, const char*, const void*,
                                     std::uint64_t);
    using data_function = void(space_handle, const char*, const void*, std::uint64_t);

    explicit kokkos_tool(const std::string& name) : from({name.c_str()}) {
        from.find("kokkosp_begin_deep_copy", begin_copy);
        from.find("kokkosp_end_deep_copy", end_copy);
        from.find("kokkosp_allocate_data", allocated);
        from.find("kokkosp_deallocate_data", freed);
        from.find("kokkosp_finalize_library", finalize);
    }

    void begin(int number) const {
        void (*init)(int, std::uint64_t, std::uint32_t, void*) = nullptr;
        if (from.find("kokkosp_init_library", init)) init(number, interface_version, 0, nullptr);
    }

    system::library from;
    begin_copy_function* begin_copy = nullptr;
    void (*end_copy)() = nullptr;
    data_function* allocated = nullptr;
    data_function* freed = nullptr;
    void (*finalize)() = nullptr;
};

class all_tools {
public:
    static all_tools& instance() {
        static auto* const only = new all_tools;  // buffers may go when static objects do
        return *only;
    }

    std::vector<kokkos_tool> kokkos;
    int (*push_range)(const char*) = nullptr;
    int (*pop_range)() = nullptr;

private:
    all_tools() {
        if (const char* const names = std::getenv("UNIBUF_KOKKOS_TOOLS")) load_kokkos(names);
        const char* const nvtx = std::getenv("UNIBUF_NVTX");
        if (nvtx && std::string_view(nvtx) == "1") load_nvtx();
        any_tool = !kokkos.empty() || push_range;
        if (!kokkos.empty()) std::atexit([] { instance().finalize(); });
    }

    void load_kokkos(std::string_view names) {
        while (!names.empty()) {
            const std::string_view name = names.substr(0, names.find(';'));
            names.remove_prefix(std::min(name.size() + 1, names.size()));
            if (name.empty()) continue;
            kokkos_tool loaded{std::string(name)};
            if (!loaded.from) {
                std::fprintf(stderr, "unibuf: UNIBUF_KOKKOS_TOOLS: %s\n", loaded.from.why().c_str());
                continue;
            }
            loaded.begin(static_cast<int>(kokkos.size()));
            kokkos.push_back(std::move(loaded));
        }
    }

    void load_nvtx() {
        const system::library nvtx({"libnvToolsExt.so.1", "libnvToolsExt.so"});
        if (!nvtx.find("nvtxRangePushA", push_range) || !nvtx.find("nvtxRangePop", pop_range)) {
            std::fprintf(stderr, "unibuf: UNIBUF_NVTX: %s\n", nvtx.why().c_str());
            push_range = nullptr;
        }
    }

    /// What comes later, from other static objects, is told to nobody.
    void finalize() {
        any_tool = false;
        for (const kokkos_tool& each : kokkos) {
            if (each.finalize) each.finalize();
        }
    }
};

/// Looks at the environment while the library is loaded.
[[maybe_unused]] const bool looked = [] {
    all_tools::instance();
    return true;
}();

}  // namespace

void tell_copy_begins(std::uint64_t buffer, space from, space to, const void* source, const void* target,
                      std::uint64_t bytes) noexcept {
    const all_tools& all = all_tools::instance();
    const std::string name = name_of(buffer);
    for (const kokkos_tool& each : all.kokkos) {
        if (!each.begin_copy) continue;
        each.begin_copy(handle_of(to), name.c_str(), target, handle_of(from), name.c_str(), source, bytes);
    }
    if (all.push_range) {
        all.push_range((name + ": " + std::to_string(bytes) + " bytes, " + from.name() + " to " + to.name()).c_str());
    }
}

void tell_copy_ended() noexcept {
    const all_tools& all = all_tools::instance();
    if (all.push_range) all.pop_range();
    for (const kokkos_tool& each : all.kokkos) {
        if (each.end_copy) each.end_copy();
    }
}

void tell_allocated(std::uint64_t buffer, space where, const void* at, std::uint64_t bytes) noexcept {
    for (const kokkos_tool& each : all_tools::instance().kokkos) {
        if (each.allocated) each.allocated(handle_of(where), name_of(buffer).c_str(), at, bytes);
    }
}

void tell_freed(std::uint64_t buffer, space where, const void* at, std::uint64_t bytes) noexcept {
    for (const kokkos_tool& each : all_tools::instance().kokkos) {
        if (each.freed) each.freed(handle_of(where), name_of(buffer).c_str(), at, bytes);
    }
}

}  // namespace unibuf::trace
