// backends/metal/device.hpp: one Metal device, as a space.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "backends/backend.hpp"
#include "backends/metal/memory.hpp"

namespace unibuf::backends::metal {

/// A device of the system, or of the caller, whose queue may be given.
class metal_device final : public device {
public:
    /// The queue is made at first use where none is given.
    explicit metal_device(owned native, owned queue = {});

    const traits& about() const noexcept override { return about_; }
    memory_info memory_now() override;
    void trim() override;
    std::unique_ptr<memory> allocate(const allocation_request& what) override;
    std::unique_ptr<memory> alias(std::span<std::byte> host, const allocation_request& what) override;
    std::uint64_t identify(queue on) override;
    fence record(queue on) override;
    bool order(const fence& before, queue on) override;

    id native() const noexcept { return native_.get(); }
    context& in();

    /// Returns the context, or null where nobody has used this device yet.
    context* in_use() const noexcept { return context_.load(std::memory_order_acquire); }

private:
    void check_length(std::size_t bytes) const;

    owned native_;
    owned queue_;  // until the context has it
    traits about_;
    std::size_t longest_buffer_ = 0;
    std::mutex mutex_;
    std::atomic<context*> context_ = nullptr;  // never freed
};

}  // namespace unibuf::backends::metal
