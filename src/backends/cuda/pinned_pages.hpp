// backends/cuda/pinned_pages.hpp: host memory that stays where it is, so that devices reach it.
#pragma once

#include <cstddef>
#include <span>

#include "backends/backend.hpp"
#include "backends/cuda/context.hpp"

namespace unibuf::backends::cuda {

/// Pins host memory for all devices while it exists. The driver pins a range once, and unpins it for all, so an object
/// within the range of another one shares that. A range that the program has pinned itself is left to it.
class pinned_pages final : public pin {
public:
    /// Pins `host`, with the context current. Throws error(out_of_memory) where the system pins no more, or unibuf may
    /// not.
    pinned_pages(context& in, std::span<std::byte> host);
    ~pinned_pages() override;
    pinned_pages(const pinned_pages&) = delete;
    pinned_pages& operator=(const pinned_pages&) = delete;

    /// Returns whether one such object has pinned all of `host`.
    static bool cover(std::span<const std::byte> host) noexcept;

private:
    context& in_;
    std::byte* begin_ = nullptr;  // where the range begins that is pinned; null where the program has pinned it
};

/// Throws what `status`, which is not success, means for `bytes` that were asked for, and tells what the device has
/// left.
[[noreturn]] void out_of_room(context& in, std::size_t bytes, const char* where, result status);

}  // namespace unibuf::backends::cuda
