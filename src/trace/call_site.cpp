// trace/call_site.cpp: where the program called the library.
#include "trace/call_site.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "process/lasting.hpp"
#include "process/mutex.hpp"
#include "system/images.hpp"
#include "trace/recorder.hpp"
#include "unibuf/trace.hpp"

namespace unibuf::trace {
namespace {

/// Numbers of places have this bit, which no address of a program has.
constexpr std::uint64_t is_place = std::uint64_t{1} << 63;

/// The places that site_of has given numbers.
class places {
public:
    static places& instance() {
        static process::lasting<places> only;
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

/// Returns where the library or the program lies that has an address; null where there is none.
const void* base_of(const void* address) noexcept {
    Dl_info found{};
    return dladdr(address, &found) == 0 ? nullptr : found.dli_fbase;
}

enum class owner : std::uint8_t {
    program,
    unibuf,
    interpreted,  // a binding, whose callers' addresses say nothing of the program that is run
};

/// The libraries that bind unibuf to other languages.
class bindings {
public:
    static bindings& instance() {
        static process::lasting<bindings> only;
        return *only;
    }

    void add(const void* base, owner whose) noexcept {
        const std::scoped_lock lock(mutex_);
        if (count_ != all_.size()) all_[count_++] = {base, whose};
        known.store(count_, std::memory_order_release);
    }

    /// Returns how many there are: what was found out when there were fewer may be wrong.
    static std::size_t count() noexcept { return known.load(std::memory_order_acquire); }

    /// Returns whose code there is in what lies at `base`.
    owner owner_of(const void* base) noexcept {
        const std::scoped_lock lock(mutex_);
        for (std::size_t i = 0; i != count_; ++i) {
            if (all_[i].base == base) return all_[i].whose;
        }
        return owner::program;
    }

private:
    struct binding {
        const void* base;
        owner whose;
    };

    static inline constinit std::atomic<std::size_t> known = 0;

    process::mutex mutex_;
    std::array<binding, 16> all_{};
    std::size_t count_ = 0;
};

/// The library that this is in.
struct own_library {
    system::image image{};
    bool has_callers = false;  // whose addresses say where they call
};

own_library find_own_library() {
    own_library result;
    bool is_program = true;  // it is loaded first
    system::for_each_image([&](const system::image& each) {
        if (each.has(reinterpret_cast<const void*>(&call_site))) result.image = each;
        const bool is_found = result.image.end != 0;
        if (!is_found) is_program = false;
        return !is_found;
    });
    // In the program its own frames and these cannot be told apart; in a binding all frames are its own.
    const owner binding = bindings::instance().owner_of(base_of(reinterpret_cast<const void*>(&call_site)));
    result.has_callers = !is_program && binding != owner::interpreted;
    return result;
}

const own_library& own() noexcept {
    static const own_library found = find_own_library();
    return found;
}

/// Returns whose code there is at an address of another library. It remembers some: to find out takes long.
[[gnu::noinline]] owner known_owner_of(const void* address) noexcept {
    struct known {
        const void* address;
        std::uint32_t bindings;
        owner whose;
    };
    static thread_local constinit std::array<known, 256> all{};
    known& place = all[reinterpret_cast<std::uintptr_t>(address) / 4 % all.size()];
    const auto bindings_now = static_cast<std::uint32_t>(bindings::count());
    if (place.address != address || place.bindings != bindings_now) {
        place = {address, bindings_now, bindings::instance().owner_of(base_of(address))};
    }
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
    constexpr int deepest = 64;
    constexpr std::size_t widest = std::size_t{1} << 20;
    if (!own().has_callers) return 0;
    const system::image library = own().image;
    // A frame begins with the address of the frame before it, and the address to which its function returns.
    auto* frame = static_cast<char*>(__builtin_frame_address(0));
    for (int depth = 0; depth < deepest; ++depth) {
        std::array<char*, 2> links;
        std::memcpy(links.data(), frame, sizeof links);
        const auto [before, back] = links;
        if (!library.has(back)) {
            const owner whose = known_owner_of(back);
            if (whose == owner::program) return reinterpret_cast<std::uintptr_t>(back);
            if (whose == owner::interpreted) return 0;
        }
        if (static_cast<std::size_t>(before - frame) - 1 >= widest) return 0;
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
std::uint64_t call_from(std::uint64_t site) noexcept { return std::exchange(trace::mine.site, site); }

void add_binding(const void* address, bool for_interpreter) noexcept {
    trace::bindings::instance().add(trace::base_of(address),
                                    for_interpreter ? trace::owner::interpreted : trace::owner::unibuf);
}

}  // namespace unibuf
