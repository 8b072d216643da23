// backends/spaces.cpp: the table of this process's spaces, and how names lead to them.
#include "backends/spaces.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "process/forks.hpp"
#include "process/mutex.hpp"
#include "process/starting_driver.hpp"
#include "unibuf/detail/gate.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

struct kind {
    std::string_view name;
    bool may_be_default;
    discovery (*discover)();
    bool searched = false;
    std::string unavailable{};
};

struct entry {
    std::string name;
    std::string kind;
    std::unique_ptr<device> found;
    int born = process::forks();
    const entry* before = nullptr;  // had the number; its name and its device may be referred to
};

/// The table is never destroyed, as drivers call back, and are called, while a process ends.
class table {
public:
    static table& instance() {
        static auto* const only = new table;
        return *only;
    }

    device& at(space where) noexcept { return *entries_[where.id()].load(std::memory_order_acquire)->found; }

    /// Returns whether a process before this one, from which it was forked off, had found the space, whose driver is of
    /// no use here.
    bool is_left_behind(space where) noexcept {
        const entry& of = *entries_[where.id()].load(std::memory_order_acquire);
        return of.born != process::forks() && of.found->about().ends_with_fork;
    }

    bool has(std::int64_t id) noexcept {
        return std::cmp_less(id, max_spaces) && entries_[static_cast<std::size_t>(id)].load(std::memory_order_acquire);
    }

    const std::string& name_of(space where) noexcept {
        return entries_[where.id()].load(std::memory_order_acquire)->name;
    }

    device_info info_of(space where) {
        const traits& about = at(where).about();
        return {.name = name_of(where),
                .available = true,
                .reason = {},
                .description = at(where).describe(),
                .own_memory = about.own_memory,
                .aliases_host = about.aliases_host,
                .host_visible = about.host_visible,
                .asynchronous = about.asynchronous,
                .memory_bytes = about.memory_bytes,
                .properties = about.properties};
    }

    space add(std::string_view kind, std::unique_ptr<device> added) {
        const std::scoped_lock lock(mutex_);
        return add_locked(kind, std::move(added));
    }

    void give_back(space gone) {
        const std::scoped_lock lock(mutex_);
        given_back_.push_back(gone.id());
    }

    space find(std::string_view name) {
        const std::string_view kind_name = well_formed(name);
        // Without the lock, which a child may find held by a thread that it does not have.
        if (const auto known = known_as(name)) return *known;
        const std::scoped_lock lock(mutex_);
        for (kind& each : kinds_) {
            if (each.name == kind_name) search(each);
        }
        if (const auto known = known_as(name)) return *known;
        std::string there;
        for (std::size_t id = 0; id < count_; ++id) {
            const entry& each = *entries_[id].load(std::memory_order_relaxed);
            if (each.kind == kind_name) there += (there.empty() ? "" : ", ") + each.name;
        }
        std::string known = "host";
        std::string why;
        if (!there.empty()) why = (there.find(',') != std::string::npos ? "there are " : "there is ") + there;
        for (const kind& each : kinds_) {
            if (each.name == kind_name && !each.unavailable.empty()) {
                why += (why.empty() ? "" : "; ") + each.unavailable;
            }
            if (each.name != "host") known += fmt::format(", {}:N", each.name);
        }
        if (!why.empty()) {
            throw error(error_code::device_unavailable, fmt::format("the space '{}' is not available: {}", name, why));
        }
        throw error(error_code::invalid_argument,
                    fmt::format("the space '{}' was asked for; this build knows {}", name, known));
    }

    std::vector<device_info> list() {
        const std::scoped_lock lock(mutex_);
        for (kind& each : kinds_) search(each);
        std::vector<device_info> result;
        for (std::size_t id = 0; id < count_; ++id) {
            if (id == host_as_device.id()) continue;
            result.push_back(info_of(space::from_id(static_cast<std::uint8_t>(id))));
        }
        for (const kind& each : kinds_) {
            if (each.unavailable.empty()) continue;
            device_info missing;
            missing.name = each.name;
            missing.reason = each.unavailable;
            result.push_back(std::move(missing));
        }
        return result;
    }

    /// Returns the first device that may be the default without being asked for. Loads the drivers of those kinds only.
    space default_candidate() {
        const std::scoped_lock lock(mutex_);
        for (kind& each : kinds_) {
            if (!each.may_be_default) continue;
            search(each);
            for (std::size_t id = 0; id < count_; ++id) {
                if (entries_[id].load(std::memory_order_relaxed)->kind == each.name) {
                    return space::from_id(static_cast<std::uint8_t>(id));
                }
            }
        }
        return host_as_device;
    }

private:
    table() {
        discovery hosts = discover_host();
        add_locked("host", std::move(hosts.devices.at(0)));
        add_locked("host", std::move(hosts.devices.at(1)));
        entries_[1].load()->name = "host";
        kinds_[0].searched = true;
    }

    std::optional<space> known_as(std::string_view name) noexcept {
        for (std::int64_t id = 0; has(id); ++id) {
            const space each = space::from_id(static_cast<std::uint8_t>(id));
            if (name_of(each) == name) return each;
        }
        return std::nullopt;
    }

    void search(kind& which) {
        if (which.searched) return;
        which.searched = true;
        which.unavailable = "another thread was looking for it when this process was forked off";
        try {
            std::optional<process::starting_driver> until_it_is_known;
            if (which.name != "debug") until_it_is_known.emplace();  // that has no driver
            discovery found = which.discover();
            which.unavailable = std::move(found.unavailable);
            for (auto& each : found.devices) add_locked(which.name, std::move(each));
        } catch (const error& failure) {
            which.unavailable = failure.message();
        } catch (const std::exception& failure) {
            which.unavailable = failure.what();
        }
    }

    space add_locked(std::string_view kind, std::unique_ptr<device> added) {
        if (count_ == max_spaces && given_back_.empty()) {
            throw error(error_code::unsupported,
                        fmt::format("a process has up to {} spaces, and they are taken", max_spaces));
        }
        std::string name(kind);
        int& next = next_index_[name];
        if (kind != "host") name += fmt::format(":{}", added->about().number.value_or(next));
        ++next;
        const bool is_new = given_back_.empty();
        const std::size_t id = is_new ? count_ : given_back_.front();
        auto* const made = new entry{.name = std::move(name),
                                     .kind = std::string(kind),
                                     .found = std::move(added),
                                     .before = entries_[id].load(std::memory_order_relaxed)};
        entries_[id].store(made, std::memory_order_release);
        if (is_new) {
            ++count_;
        } else {
            given_back_.pop_front();
        }
        return space::from_id(static_cast<std::uint8_t>(id));
    }

    /// Returns the kind in "host" or "kind:index".
    static std::string_view well_formed(std::string_view name) {
        if (name == "host") return name;
        const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
        const auto digit = [](char c) { return c >= '0' && c <= '9'; };
        const std::size_t colon = name.find(':');
        const std::string_view kind = name.substr(0, colon);
        const std::string_view index = colon == std::string_view::npos ? "" : name.substr(colon + 1);
        if (name.size() <= longest_name && !kind.empty() && kind != "host" && std::ranges::all_of(kind, lower) &&
            !index.empty() && std::ranges::all_of(index, digit) && (index == "0" || index.front() != '0')) {
            return kind;
        }
        // The name is cut and escaped, as it may be anything.
        throw error(
            error_code::invalid_argument,
            fmt::format("{:?}{} is no name of a space: 'host', or a kind and a number as in 'opencl:0', in lower case",
                        name.substr(0, longest_name), name.size() > longest_name ? "..." : ""));
    }

    static constexpr std::size_t longest_name = 64;

    process::mutex mutex_{process::mutex::rank::renewed};
    std::array<std::atomic<entry*>, max_spaces> entries_{};
    std::size_t count_ = 0;
    std::map<std::string, int, std::less<>> next_index_;  // of each kind
    std::deque<std::size_t> given_back_;                  // ids of spaces that have gone, the longest ago first
    std::vector<kind> kinds_ = {
#define UNIBUF_BACKEND(kind, default_device) {#kind, default_device, &discover_##kind},
#include "backends/backends.inc"
#undef UNIBUF_BACKEND
    };
};

}  // namespace

std::size_t count_of_spaces() noexcept {
    std::int64_t count = 0;
    while (table::instance().has(count)) ++count;
    return static_cast<std::size_t>(count);
}

device& device_of(space where) noexcept { return table::instance().at(where); }

bool was_left_behind(space where) noexcept { return table::instance().is_left_behind(where); }

void tell_left_behind(space where) {
    throw error(
        error_code::device_lost,
        fmt::format("{} is the parent process's: it was opened before this process was forked off", where.name()));
}

device_info info_of(space where) { return table::instance().info_of(where); }

space add_space(std::string_view kind, std::unique_ptr<device> added) {
    return table::instance().add(kind, std::move(added));
}

void give_back(space gone) { table::instance().give_back(gone); }

}  // namespace unibuf::backends

namespace unibuf {

space::space(std::string_view name) : space(backends::table::instance().find(name)) {}

std::optional<space> space::numbered(std::int64_t id) noexcept {
    if (id < 0 || id == host_as_device.id() || !backends::table::instance().has(id)) return std::nullopt;
    return from_id(static_cast<std::uint8_t>(id));
}

const std::string& space::name() const noexcept { return backends::table::instance().name_of(*this); }

std::vector<device_info> devices() { return backends::table::instance().list(); }

memory_info memory_of(space where) { return backends::device_of(where).memory_now(); }

fence record_fence(space where, queue on) { return backends::device_of(where).record(on); }

namespace {

/// The number of the default device, also where default_space does not say it.
constinit std::atomic<std::uint8_t> chosen_space = detail::no_space;

/// Returns what default_space is to say where `device` is the default one. It tells of no device that was left behind,
/// so that nobody gets its copy without the buffer's lock, under which that is refused.
std::uint8_t told_of(space device) {
    [[maybe_unused]] static const int registered =
        ::pthread_atfork(nullptr, nullptr, [] { detail::default_space = detail::no_space; });
    return backends::table::instance().is_left_behind(device) ? detail::no_space : device.id();
}

}  // namespace

space current_device() {
    if (const std::uint8_t id = detail::default_space.load(std::memory_order_relaxed); id != detail::no_space) {
        return space::from_id(id);
    }
    std::uint8_t id = chosen_space.load(std::memory_order_relaxed);
    if (id == detail::no_space) {
        const space found = backends::table::instance().default_candidate();
        chosen_space.compare_exchange_strong(id, found.id());
        if (id == detail::no_space) id = found.id();
    }
    std::uint8_t nothing = detail::no_space;
    detail::default_space.compare_exchange_strong(nothing, told_of(space::from_id(id)));
    return space::from_id(id);
}

space default_device() { return detail::as_named(current_device()); }

void set_default_device(space where) {
    const space device = detail::as_device(where);
    chosen_space.store(device.id(), std::memory_order_relaxed);
    detail::default_space = told_of(device);
}

}  // namespace unibuf
