// tracking/kernel.cpp: what is the same on all systems.
#include "tracking/kernel.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <string_view>

#include "process/forks.hpp"

namespace unibuf::tracking {

kernel& kernel::instance() {
    static auto* const only = new kernel;  // buffers may go when static objects do
    return *only;
}

namespace {

std::string_view chosen() noexcept {
    const char* const found = std::getenv("UNIBUF_TRACKING");
    return found ? found : "";
}

}  // namespace

bool kernel::is_off() noexcept {
    static const bool off = chosen() == "off";
    return off;
}

bool kernel::is_by_signal() noexcept {
    static const bool by_signal = chosen() == "signal";
    return by_signal;
}

bool kernel::is_by_digest() noexcept {
    static const bool by_digest = chosen() == "digest";
    return by_digest;
}

std::string kernel::unknown_choice() {
    const std::string_view found = chosen();
    if (found.empty() || is_off() || is_by_signal() || is_by_digest()) return "";
    return fmt::format(" (UNIBUF_TRACKING is off, signal or digest: '{}' changes nothing)", found);
}

bool kernel::usable() const noexcept { return is_open_.load(std::memory_order_acquire) && forks_ == process::forks(); }

std::string kernel::missing() const {
    const std::scoped_lock lock(mutex_);
    if (refused_) return refused_->text;
    return usable() ? "" : "this process was forked off, and what its parent had watched is the parent's";
}

/// Opens the descriptors where that was refused for the moment. Returns whether they are open.
bool kernel::is_ready() noexcept {
    if (usable()) return true;
    if (!refused_ || !refused_->is_for_now) return false;
    forks_ = process::forks();  // nothing of a parent's is open
    try {
        refused_ = open();
    } catch (const std::bad_alloc&) {
        return false;
    }
    is_open_.store(!refused_, std::memory_order_release);
    return !refused_;
}

}  // namespace unibuf::tracking
