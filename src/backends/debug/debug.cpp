// backends/debug/debug.cpp: separate memory without hardware, poisoned where it is stale.
#include <cstdint>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "backends/backend.hpp"
#include "backends/pattern.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

/// Addressable, so that programs run on it as on a device with plain pointers; never shared, so that the host does not see
/// what was written here until it is told.
class debug_memory final : public memory {
public:
    explicit debug_memory(std::size_t bytes)
        : address_(static_cast<std::byte*>(::operator new(bytes, alignment, std::nothrow))) {
        if (!address_) {
            throw error(error_code::out_of_memory, fmt::format("the debug device has no room for {} bytes", bytes));
        }
        std::memset(address_, static_cast<int>(poison), bytes);
    }

    ~debug_memory() override { ::operator delete(address_, alignment); }

    debug_memory(const debug_memory&) = delete;
    debug_memory& operator=(const debug_memory&) = delete;

    std::byte* host_address() const noexcept override { return address_; }
    std::uintptr_t handle() const noexcept override { return reinterpret_cast<std::uintptr_t>(address_); }

    fence write(std::size_t offset, std::span<const std::byte> from, queue) override {
        std::memcpy(address_ + offset, from.data(), from.size());
        return {};
    }

    fence read(std::size_t offset, std::span<std::byte> to, queue) override {
        std::memcpy(to.data(), address_ + offset, to.size());
        return {};
    }

    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue) override {
        repeat(pattern, {address_ + offset, bytes});
        return {};
    }

private:
    static constexpr std::align_val_t alignment{64};

    std::byte* address_;
};

class debug_device final : public device {
public:
    debug_device() {
        about_.description = "separate memory without hardware, poisoned where it is stale";
        about_.poisons_stale = true;
    }

    const traits& about() const noexcept override { return about_; }

    std::unique_ptr<memory> allocate(const request& what) override {
        return std::make_unique<debug_memory>(what.bytes);
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
