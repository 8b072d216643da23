// buffer/wait_circle.cpp: threads that wait for each other in a circle, which nothing but a timeout ends.
#include "buffer/wait_circle.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "process/mutex.hpp"

namespace unibuf::detail {
namespace {

struct wait {
    std::uint32_t holder;
    const void* of;
    std::string request;
};

struct all_waits {
    process::mutex mutex;
    std::map<std::uint32_t, wait> by_waiter;
};

all_waits& known() {
    static all_waits& all = *new all_waits;  // threads may wait while the process ends
    return all;
}

}  // namespace

waits_for::waits_for(std::uint32_t waiter, std::uint32_t holder, const void* of, std::string request)
    : waiter_(waiter) {
    const std::scoped_lock lock(known().mutex);
    known().by_waiter.insert_or_assign(waiter, wait{holder, of, std::move(request)});
}

waits_for::~waits_for() {
    const std::scoped_lock lock(known().mutex);
    known().by_waiter.erase(waiter_);
}

void waits_for::look_again(const void* of) noexcept {
    const std::scoped_lock lock(known().mutex);
    std::erase_if(known().by_waiter, [of](const auto& each) { return each.second.of == of; });
}

std::string waits_for::circle() const {
    const std::scoped_lock lock(known().mutex);
    const auto& by_waiter = known().by_waiter;
    std::string result;
    std::uint32_t thread = waiter_;
    for (std::size_t steps = 0; steps < by_waiter.size(); ++steps) {
        const auto found = by_waiter.find(thread);
        if (found == by_waiter.end()) return {};
        const auto& [holder, of, request] = found->second;
        result +=
            fmt::format("{}thread {} waits for thread {}: {}", result.empty() ? "" : "; ", thread, holder, request);
        if (holder == waiter_) return result;
        thread = holder;
    }
    return {};
}

}  // namespace unibuf::detail
