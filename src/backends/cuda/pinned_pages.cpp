// backends/cuda/pinned_pages.cpp
#include "backends/cuda/pinned_pages.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "backends/cuda/pinned_share.hpp"

namespace unibuf::backends::cuda {
namespace {

using range = std::pair<std::byte*, std::size_t>;

struct shared_pin {
    std::size_t users;
    pinned_share share;
};

/// The table is never destroyed, as buffers may go when static objects do.
struct table {
    std::mutex mutex;
    std::map<range, shared_pin> pins;

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

pinned_pages::pinned_pages(context& in, std::span<std::byte> host) : in_(in), host_(host) {
    if (in.attribute(host_register_supported) == 0) {
        throw error(error_code::unsupported, in.description() + " does not pin memory that it has not allocated");
    }
    table& known = table::instance();
    const std::scoped_lock lock(known.mutex);
    const range which{host.data(), host.size()};
    if (const auto found = known.pins.find(which); found != known.pins.end()) {
        ++found->second.users;
        return;
    }
    shared_pin added{.users = 1, .share = pinned_share(host.size())};
    const auto place = known.pins.emplace(which, std::move(added)).first;
    const result status =
        api().cuMemHostRegister(host.data(), host.size(), host_register_portable | host_register_device_map);
    if (status == success) return;
    known.pins.erase(place);
    own_ = status != host_memory_already_registered;
    if (!own_) return;
    if (status == not_permitted || status == not_supported || status == invalid_value) {
        in.check(status, fmt::format("{} bytes of the host cannot be pinned", host.size()), error_code::unsupported);
    }
    out_of_room(in, host.size(), "of the host to be pinned", status);
}

pinned_pages::~pinned_pages() {
    if (!own_) return;
    table& known = table::instance();
    const std::scoped_lock lock(known.mutex);
    const auto mine = known.pins.find({host_.data(), host_.size()});
    if (--mine->second.users > 0) return;
    known.pins.erase(mine);
    try {
        const context::scope current(in_);
        api().cuMemHostUnregister(host_.data());
    } catch (const std::exception&) {  // the device is lost
    }
}

bool pinned_pages::cover(std::span<const std::byte> host) noexcept {
    table& known = table::instance();
    const std::scoped_lock lock(known.mutex);
    auto next = known.pins.upper_bound({const_cast<std::byte*>(host.data()), std::numeric_limits<std::size_t>::max()});
    if (next == known.pins.begin()) return false;
    const auto& [begin, bytes] = std::prev(next)->first;
    return host.data() + host.size() <= begin + bytes;
}

}  // namespace unibuf::backends::cuda
