// backends/debug/debug.cpp: separate memory without hardware, poisoned where it is stale.
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "backends/backend.hpp"
#include "backends/spaces.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

/// Addressable, so that programs run on it as on a device with plain pointers; never shared, so that the host does not
/// see what was written here until it is told.
class debug_memory final : public memory {
public:
    explicit debug_memory(const request& what) : pages_(device_of(host).allocate(what)) {
        std::memset(host_address(), static_cast<int>(poison), what.bytes);
    }

    std::byte* host_address() const noexcept override { return pages_->host_address(); }
    std::uintptr_t handle() const noexcept override { return pages_->handle(); }

    fence write(std::size_t offset, std::span<const std::byte> from, queue on) override {
        return pages_->write(offset, from, on);
    }
    fence read(std::size_t offset, std::span<std::byte> to, queue on) override { return pages_->read(offset, to, on); }
    void write_parts(std::span<const part> parts, const std::byte* host, queue on, std::vector<fence>& done) override {
        pages_->write_parts(parts, host, on, done);
    }
    void read_parts(std::span<const part> parts, std::byte* host, queue on, std::vector<fence>& done) override {
        pages_->read_parts(parts, host, on, done);
    }
    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) override {
        return pages_->fill(offset, bytes, pattern, on);
    }

private:
    std::unique_ptr<memory> pages_;
};

class debug_device final : public device {
public:
    debug_device() {
        about_.description = "separate memory without hardware, poisoned where it is stale";
        about_.poisons_stale = true;
        about_.addresses = true;
        about_.memory_bytes = device_of(host).about().memory_bytes;
    }

    const traits& about() const noexcept override { return about_; }

    std::unique_ptr<memory> allocate(const request& what) override {
        // All of it is poisoned, so it must be there, and not only promised.
        if (what.bytes > about_.memory_bytes) {
            throw error(error_code::out_of_memory,
                        fmt::format("{} bytes for the debug device are more than the host's {}", what.bytes,
                                    about_.memory_bytes));
        }
        return std::make_unique<debug_memory>(what);
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
