// tracking/kernel.cpp: what is the same on all systems.
#include "tracking/kernel.hpp"

#include <cstdlib>
#include <string_view>

#include "process/forks.hpp"

namespace unibuf::tracking {

kernel& kernel::instance() {
    static auto* const only = new kernel;  // buffers may go when static objects do
    return *only;
}

bool kernel::is_off() noexcept {
    static const bool off = [] {
        const char* const chosen = std::getenv("UNIBUF_TRACKING");
        return chosen && std::string_view(chosen) == "off";
    }();
    return off;
}

bool kernel::usable() const noexcept { return missing_.empty() && forks_ == process::forks(); }

}  // namespace unibuf::tracking
