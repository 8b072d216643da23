// trace/call_site.cpp
#include "trace/call_site.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "process/mutex.hpp"
#include "system/images.hpp"
#include "unibuf/trace.hpp"

namespace unibuf::trace {
namespace {

/// What call_from has said on this thread.
thread_local constinit std::uint64_t said_by_thread = 0;

/// Numbers of places have this bit, which no address of a program has.
constexpr std::uint64_t is_place = std::uint64_t{1} << 63;

/// The places that site_of has given numbers.
class places {
public:
    static places& instance() {
        static auto* const only = new places;
        return *only;
    }

    std::uint64_t number_of(std::string_view place) {
        const std::scoped_lock lock(mutex_);
        const auto [found, is_new] = numbers_.try_emplace(std::string(place), is_place | names_.size());
        if (is_new) names_.push_back(&found->first);
        return found->second;
    }

    std::string name_of(std::uint64_t site) {
        const std::scoped_lock lock(mutex_);
        const std::uint64_t index = site & ~is_place;
        return index < names_.size() ? *names_[index] : std::string();
    }

private:
    process::mutex mutex_;
    std::map<std::string, std::uint64_t> numbers_;
    std::vector<const std::string*> names_;
};

enum class owner : std::uint8_t {
    program,
    unibuf,
    interpreter,  // of Python, whose addresses say nothing of the program that it runs
};

/// Returns whose code there is at `address`.
owner owner_of(const void* address) noexcept {
    Dl_info found{};
    if (dladdr(address, &found) == 0 || !found.dli_fname) return owner::program;
    const std::string_view file(found.dli_fname);
    const std::string_view name = file.substr(file.rfind('/') + 1);
    if (name.starts_with("libunibuf") || file.find("/unibuf/_native.") != std::string_view::npos) return owner::unibuf;
    return name.starts_with("python") || name.starts_with("libpython") ? owner::interpreter : owner::program;
}

/// Whether the library is a shared one: else its frames and the program's cannot be told apart.
bool is_shared() noexcept {
    static const bool result = owner_of(reinterpret_cast<const void*>(&call_site)) == owner::unibuf;
    return result;
}

/// Returns the library that this is in.
system::image own_image() {
    system::image result{};
    system::for_each_image([&](const system::image& each) {
        if (each.has(reinterpret_cast<const void*>(&call_site))) result = each;
        return result.end == 0;
    });
    return result;
}

/// Returns whose code there is at an address. Of others than this library's it remembers some: to find out takes long.
owner known_owner_of(const void* address) noexcept {
    static const system::image own = own_image();
    if (own.has(address)) return owner::unibuf;
    struct known {
        const void* address;
        owner whose;
    };
    static thread_local constinit std::array<known, 256> all{};
    known& place = all[reinterpret_cast<std::uintptr_t>(address) / 4 % all.size()];
    if (place.address != address) place = {address, owner_of(address)};
    return place.whose;
}

/// Returns the path of a program or a library. Programs are known by the name that they were called by, which the
/// folder of that moment, or PATH, gives a meaning.
std::string path_of(const Dl_info& of) {
    std::string name(of.dli_fname);
    if (name.starts_with('/')) return name;
    const std::string program = system::program();
    return program.empty() ? name : program;
}

}  // namespace

std::uint64_t call_site() noexcept {
    if (said_by_thread != 0) return said_by_thread;
    constexpr int deepest = 64;
    constexpr std::ptrdiff_t widest = std::ptrdiff_t{1} << 20;
    if (!is_shared()) return 0;
    // A frame begins with the address of the frame before it, and the address to which its function returns.
    auto* frame = static_cast<char*>(__builtin_frame_address(0));
    for (int depth = 0; depth < deepest; ++depth) {
        std::array<char*, 2> links;
        std::memcpy(links.data(), frame, sizeof links);
        const auto [before, back] = links;
        const owner whose = known_owner_of(back);
        if (whose == owner::program) return reinterpret_cast<std::uintptr_t>(back);
        if (whose == owner::interpreter) return 0;
        if (before <= frame || before - frame > widest) return 0;
        frame = before;
    }
    return 0;
}

std::string describe_site(std::uint64_t site) {
    if ((site & is_place) != 0) return places::instance().name_of(site);
    Dl_info found{};
    // The address is that behind the call, which may belong to the next function.
    const auto* const call = reinterpret_cast<const char*>(site) - 1;
    if (site == 0 || dladdr(call, &found) == 0 || !found.dli_fname) return fmt::format("{:#x}", site);
    std::string where = fmt::format("{}+{:#x}", path_of(found), system::address_in_file(call, found.dli_fbase));
    if (!found.dli_sname) return where;
    int failed = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(found.dli_sname, nullptr, nullptr, &failed), &std::free);
    return fmt::format("{} at {}", failed == 0 ? name.get() : found.dli_sname, where);
}

}  // namespace unibuf::trace

namespace unibuf {

std::uint64_t site_of(std::string_view place) { return trace::places::instance().number_of(place); }
std::uint64_t call_from(std::uint64_t site) noexcept { return std::exchange(trace::said_by_thread, site); }

}  // namespace unibuf
