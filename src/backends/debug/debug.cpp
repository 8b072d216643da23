// backends/debug/debug.cpp: separate memory without hardware, poisoned where it is stale.
#include <memory>

#include <fmt/format.h>

#include "backends/backend.hpp"
#include "backends/debug/poisoned_memory.hpp"
#include "backends/spaces.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

class debug_device final : public device {
public:
    debug_device() {
        about_.description = "separate memory without hardware, poisoned where it is stale";
        about_.poisons_stale = true;
        about_.addresses = true;
        about_.memory_bytes = device_of(host).about().memory_bytes;
    }

    const traits& about() const noexcept override { return about_; }

    std::unique_ptr<memory> allocate(const allocation_request& what) override {
        // The host promises more memory than it has.
        if (what.bytes > about_.memory_bytes) {
            throw error(error_code::out_of_memory,
                        fmt::format("{} bytes for the debug device are more than the host's {}", what.bytes,
                                    about_.memory_bytes));
        }
        return std::make_unique<poisoned_memory>(what);
    }

private:
    traits about_;
};

}  // namespace

discovery discover_debug() {
    discovery result;
    result.devices.push_back(std::make_unique<debug_device>());
    return result;
}

}  // namespace unibuf::backends
