// backends/opencl/alias.hpp: a device's use of the host's memory, by CL_MEM_USE_HOST_PTR.
#pragma once

#include <mutex>
#include <vector>

#include "backends/opencl/allocation.hpp"
#include "backends/opencl/mapped_ranges.hpp"

namespace unibuf::backends::cl {

/// Bytes that the host may touch are mapped, and those that the device may touch are not. Publishing maps and unmaps;
/// the host's address stays the same.
class alias final : public allocation {
public:
    /// Takes `native`, made of `host`, and maps all of it. Throws error(transfer_failed) where it is mapped elsewhere.
    alias(context& in, numbered_mem native, std::span<std::byte> host);
    ~alias() override;

    std::byte* host_address() const noexcept override { return host_.data(); }

    fence publish_to_host(std::size_t offset, std::size_t bytes, access what, queue on) override;
    fence publish_to_device(std::size_t offset, std::size_t bytes, access what, queue on) override;

private:
    /// A piece that is mapped, and when its map is done: what unmaps it waits for that, on whatever queue.
    struct mapped {
        piece where;
        fence done;
    };

    // These need the mutex, but for the constructor and the destructor. Each fence is done when the last command is.
    fence apply(const remapping& change, cl_command_queue queue);
    fence unmap(const piece& what, cl_command_queue queue);
    fence map(const piece& what, cl_command_queue queue);

    /// Returns a fence that is done when all maps of [begin, end) are, on whatever queues they were.
    fence all_mapped(std::size_t begin, std::size_t end, cl_command_queue queue);

    std::vector<piece> pieces() const;

    std::span<std::byte> host_;
    std::mutex mutex_;
    std::vector<mapped> mapped_;  // in order
};

}  // namespace unibuf::backends::cl
