// backends/cuda/pinned_pages.cpp
#include "backends/cuda/pinned_pages.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

namespace unibuf::backends::cuda {
namespace {

using range = std::pair<std::byte*, std::size_t>;

/// How many use each range. Never destroyed: buffers may go when static objects do.
struct table {
    std::mutex mutex;
    std::map<range, std::size_t> users;

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
    table& known = table::instance();
    const std::scoped_lock lock(known.mutex);
    std::size_t& users = known.users[{host.data(), host.size()}];
    if (users == 0) {
        const result status =
            api().cuMemHostRegister(host.data(), host.size(), host_register_portable | host_register_device_map);
        own_ = status != host_memory_already_registered;
        if (status != success) known.users.erase({host.data(), host.size()});
        if (!own_) return;
        if (status != success) out_of_room(in, host.size(), "of the host to be pinned", status);
    }
    ++users;
}

pinned_pages::~pinned_pages() {
    if (!own_) return;
    table& known = table::instance();
    const std::scoped_lock lock(known.mutex);
    const auto mine = known.users.find({host_.data(), host_.size()});
    if (--mine->second > 0) return;
    known.users.erase(mine);
    try {
        const context::scope current(in_);
        api().cuMemHostUnregister(host_.data());
    } catch (const std::exception&) {  // the device is lost
    }
}

}  // namespace unibuf::backends::cuda
