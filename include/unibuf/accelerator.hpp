// unibuf/accelerator.hpp: what a space is, and what becomes of its memory.
#pragma once

#include <cstdint>
#include <optional>

#include "unibuf/export.hpp"
#include "unibuf/space.hpp"

namespace unibuf {

/// The memory of a space, in bytes: what its driver says of all programs, and what this program's buffers have of it.
struct accelerator_memory {
    std::uint64_t total = 0;  // what all programs can have together: see memory_of; 0 where the driver does not say
    std::optional<std::uint64_t> free;  // what can still be had: see memory_of; nothing where the driver does not say
    std::uint64_t held = 0;             // what this program's buffers hold: see memory_usage
    std::uint64_t peak = 0;             // the most that was held, since the process began or since reset_peak_memory
    std::uint64_t limit = no_memory_limit;  // the most that may be held: see limit_memory
    std::uint64_t pooled = 0;  // the part of `held` that is in pools: to be acquired, or to go without loss
    std::uint64_t pinned = 0;  // at the host, what cuda::pinned_memory counts, whichever space holds it; elsewhere 0
};

/// A space that can be asked about itself: a small value, as cheap to keep as the space. Any thread may use it.
class UNIBUF_API accelerator {
public:
    explicit constexpr accelerator(space where) noexcept : where_(where) {}

    constexpr space where() const noexcept { return where_; }

    /// Returns what devices() tells of this space; loads no other driver.
    device_info properties() const;

    /// Asks the driver at each call, at the cost of memory_of, and takes a short look at every buffer that lies in a
    /// pool; such a buffer takes a lock when it is acquired next. Other threads go on meanwhile, so the figures are not
    /// all of one moment; but `pooled` is never more than `held`. Throws what memory_of throws.
    accelerator_memory memory() const;

    friend constexpr bool operator==(accelerator, accelerator) noexcept = default;

private:
    space where_;
};

/// Returns the device that is the default now: see default_device.
UNIBUF_API accelerator get_accelerator();
UNIBUF_API accelerator get_accelerator(space where);

}  // namespace unibuf
