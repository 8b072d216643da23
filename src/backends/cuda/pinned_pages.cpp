// backends/cuda/pinned_pages.cpp: host memory that stays where it is, so that devices reach it.
#include "backends/cuda/pinned_pages.hpp"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "backends/cuda/pinned_share.hpp"
#include "process/mutex.hpp"

namespace unibuf::backends::cuda {
namespace {

struct shared_pin {
    std::size_t bytes;
    std::size_t users;
    pinned_share share;
};

using shared_pins = std::map<const std::byte*, shared_pin>;

/// The table is never destroyed, as buffers may go when static objects do.
struct table {
    process::mutex mutex{process::mutex::rank::renewed};
    shared_pins pins;  // by the address where they begin

    /// Returns the pin of all of `host`, or the end.
    shared_pins::iterator around(std::span<const std::byte> host) noexcept {
        const auto next = pins.upper_bound(host.data());
        if (next == pins.begin()) return pins.end();
        const auto last = std::prev(next);
        return host.data() + host.size() <= last->first + last->second.bytes ? last : pins.end();
    }

    static table& instance() {
        static auto* const only = new table;
        return *only;
    }
};

}  // namespace

void out_of_room(context& in, std::size_t bytes, const char* where, result status) {
    std::size_t free = 0;
    std::size_t total = 0;
    api().cuMemGetInfo(&free, &total);
    in.check(status, fmt::format("{} bytes {} were asked for; of the device's {} bytes {} are free", bytes, where,
                                 total, free));
    __builtin_unreachable();
}

pinned_pages::pinned_pages(context& in, std::span<std::byte> host) : in_(in) {
    if (in.attribute(host_register_supported) == 0) {
        throw error(error_code::unsupported, in.description() + " does not pin memory that it has not allocated");
    }
    table& all = table::instance();
    const std::scoped_lock lock(all.mutex);
    if (const auto found = all.around(host); found != all.pins.end()) {
        ++found->second.users;
        begin_ = const_cast<std::byte*>(found->first);
        return;
    }
    shared_pin added{.bytes = host.size(), .users = 1, .share = pinned_share(host.size())};
    const auto [place, is_new] = all.pins.emplace(host.data(), std::move(added));  // a shorter one may begin there
    const result status =
        api().cuMemHostRegister(host.data(), host.size(), host_register_portable | host_register_device_map);
    if (status == success) {
        begin_ = host.data();
        return;
    }
    if (is_new) all.pins.erase(place);
    if (status == host_memory_already_registered) return;
    if (status == not_permitted || status == not_supported || status == invalid_value) {
        in.check(status, fmt::format("{} bytes of the host cannot be pinned", host.size()), error_code::unsupported);
    }
    out_of_room(in, host.size(), "of the host to be pinned", status);
}

pinned_pages::~pinned_pages() {
    if (!begin_) return;
    table& all = table::instance();
    const std::scoped_lock lock(all.mutex);
    const auto mine = all.pins.find(begin_);
    if (--mine->second.users > 0) return;
    all.pins.erase(mine);
    try {
        const context::scope current(in_);
        api().cuMemHostUnregister(begin_);
    } catch (const std::exception&) {  // the device is lost
    }
}

bool pinned_pages::cover(std::span<const std::byte> host) noexcept {
    table& all = table::instance();
    const std::scoped_lock lock(all.mutex);
    return all.around(host) != all.pins.end();
}

}  // namespace unibuf::backends::cuda
