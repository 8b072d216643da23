// backends/cuda/host_memory.hpp: memory of the host that a device uses in place, or has allocated.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "backends/cuda/memory.hpp"
#include "backends/cuda/pinned_pages.hpp"
#include "backends/cuda/pinned_share.hpp"

namespace unibuf::backends::cuda {

/// The host's memory, pinned and used in place. The device sees what the host has written, and the other way round, as
/// soon as the work that is to see it, or has written it, is ordered: publishing has nothing to do.
class host_alias final : public device_range {
public:
    /// Uses `host` in place. Where `pageable`, the device reads host memory as it is, pinned or not.
    host_alias(context& in, staging& ring, std::span<std::byte> host, bool pageable);

    std::byte* host_address() const noexcept override { return host_.data(); }

private:
    std::span<std::byte> host_;
    std::optional<pinned_pages> pages_;
};

/// Host memory that the driver has allocated for the device, write-combined where the host streams into it.
class visible_memory final : public device_range {
public:
    visible_memory(context& in, staging& ring, const allocation_request& what);
    ~visible_memory() override;

    std::byte* host_address() const noexcept override { return host_; }
    bool starts_zero() const noexcept override { return true; }

private:
    pinned_share share_;
    std::byte* host_ = nullptr;
};

}  // namespace unibuf::backends::cuda
