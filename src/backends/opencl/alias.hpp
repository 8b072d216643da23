// backends/opencl/alias.hpp: a device's use of the host's memory, by CL_MEM_USE_HOST_PTR.
#pragma once

#include <atomic>
#include <mutex>

#include "backends/opencl/allocation.hpp"

namespace unibuf::backends::cl {

class compute_device;

/// What one side has written goes to the other by a write, or a read, whose two ends are the same bytes of the host:
/// clEnqueueWriteBuffer and clEnqueueReadBuffer say how. A driver that keeps bytes of its own moves just these. One
/// that uses the memory in place is told nothing: it may copy the bytes onto themselves, and undo what the program
/// stores meanwhile.
///
/// Nothing is ever mapped: a program may store through pointers to the host's memory at any time, which is right where
/// those stores are found, and a device never uses bytes that are mapped.
class alias final : public allocation {
public:
    /// The driver is told of `host`, and of `told` bytes, when the device first gets any of it: it takes what it finds
    /// there then.
    alias(compute_device& on, std::span<std::byte> host, std::size_t told);

    std::byte* host_address() const noexcept override { return host_.data(); }
    std::uintptr_t handle() const noexcept override;
    bool publishes_content() const noexcept override { return !in_place_; }
    void forget_content() noexcept override;

    fence publish_to_host(std::size_t offset, std::size_t bytes, access what, queue on) override;
    fence publish_to_device(std::size_t offset, std::size_t bytes, access what, queue on) override;
    fence publish_rows_to_host(const rectangle_copy& what, access how, queue on) override;
    fence publish_rows_to_device(const rectangle_copy& what, access how, queue on) override;

private:
    /// Tells the driver of the memory, and returns whether it is told only now. Throws where it has no room.
    bool tell() const;
    fence work_before(queue on);

    compute_device& on_;
    std::span<std::byte> host_;
    std::size_t bytes_to_tell_;
    bool in_place_;
    mutable std::mutex mutex_;  // guards that it is told once
    mutable std::atomic<bool> is_told_ = false;
};

}  // namespace unibuf::backends::cl
