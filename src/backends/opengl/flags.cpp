// backends/opengl/flags.cpp: the table behind flags.hpp.
#include "backends/opengl/flags.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "backends/opengl/api.hpp"

namespace unibuf::backends {

namespace {

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

template <std::size_t Count>
bool has_any(const std::string& text, const std::array<std::string_view, Count>& words) {
    return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

constexpr std::array<std::string_view, 5> software_renderers{"llvmpipe", "softpipe", "swrast", "software rasterizer",
                                                             "swiftshader"};
constexpr std::array<std::string_view, 7> integrated_renderers{"tegra",     "mali", "panfrost", "adreno",
                                                               "freedreno", "v3d",  "apple"};
constexpr std::array<std::string_view, 5> intel_cards{"arc(tm) a", "arc(tm) b", "dg1", "dg2", "bmg"};

gl_vendor vendor_of(const std::string& vendor, const std::string& renderer) {
    // Mesa's layers over another API, and its drivers that the maker did not write, name the maker's card in the
    // renderer only: what is known of the maker's own driver says nothing of them.
    if (has_any(renderer, std::array<std::string_view, 3>{"zink", "d3d12", "virgl"})) return gl_vendor::other;
    if (vendor.starts_with("nvidia")) return gl_vendor::nvidia;
    if (vendor.starts_with("intel")) return gl_vendor::intel;
    if (vendor.starts_with("amd") || vendor.starts_with("ati ")) return gl_vendor::amd;
    if (vendor.starts_with("x.org") && has_any(renderer, std::array<std::string_view, 2>{"amd", "radeon"})) {
        return gl_vendor::amd;
    }
    return gl_vendor::other;
}

std::string describe(host_access access, bool write_combined, bool coherent, bool explicit_flush) {
    std::string text = access == host_access::read_only    ? "to read, cached"
                       : access == host_access::write_only ? "to write"
                                                           : "to read and write, cached";
    if (write_combined) text += ", write-combined";
    return text + (coherent ? ", coherent" : explicit_flush ? ", explicit flush" : ", made visible by a barrier");
}

}  // namespace

gl_platform platform_of(std::string_view vendor, std::string_view renderer) {
    const std::string who = lower(vendor);
    const std::string what = lower(renderer);
    if (has_any(what, software_renderers)) return {gl_vendor::other, false, true};

    gl_platform result{vendor_of(who, what), !has_any(what, integrated_renderers), false};
    if (result.vendor == gl_vendor::intel) result.own_memory = has_any(what, intel_cards);
    return result;
}

std::optional<gl_vendor> vendor_named(std::string_view name) {
    if (name == "amd") return gl_vendor::amd;
    if (name == "intel") return gl_vendor::intel;
    if (name == "nvidia") return gl_vendor::nvidia;
    if (name == "other") return gl_vendor::other;
    return std::nullopt;
}

gl_mapping mapping_for(gl_vendor vendor, host_access access, memory_hint hint) {
    const bool reads = access != host_access::write_only;
    const bool writes = access != host_access::read_only;
    const bool coherent = vendor != gl_vendor::nvidia || hint == memory_hint::coherent;

    gl_mapping result;
    result.explicit_flush = writes && !coherent;
    result.storage = gl::map_persistent | (reads ? gl::map_read : 0U) | (writes ? gl::map_write : 0U) |
                     (coherent ? gl::map_coherent : 0U);
    result.map = result.storage | (result.explicit_flush ? gl::map_flush_explicit : 0U);

    // CLIENT_STORAGE puts the bytes in the host's memory, and with MAP_READ in its caches. Memory that the host only
    // writes is better off near the device, unless the caller prefers the host.
    if (reads || hint == memory_hint::cpu_preferred) result.storage |= gl::client_storage;

    const bool write_combined = vendor == gl_vendor::amd && !reads;
    result.description = describe(access, write_combined, coherent, result.explicit_flush);
    return result;
}

}  // namespace unibuf::backends
