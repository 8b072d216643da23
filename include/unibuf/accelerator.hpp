// unibuf/accelerator.hpp: what a space is, and what becomes of its memory.
#pragma once

#include <cstdint>
#include <optional>

#include "unibuf/export.hpp"
#include "unibuf/space.hpp"

namespace unibuf {

/// The memory of a space, in bytes: what the driver says of all programs, and what of it is this one's buffers'.
struct accelerator_memory {
    std::uint64_t total = 0;                // as in memory_info
    std::optional<std::uint64_t> free;      // likewise
    std::uint64_t held = 0;                 // as in memory_usage
    std::uint64_t peak = 0;                 // likewise
    std::uint64_t limit = no_memory_limit;  // likewise
    std::uint64_t pooled = 0;  // of `held`: of buffers that lie in pools, to be acquired, or to go without loss
    std::uint64_t pinned = 0;  // of the host: as cuda::pinned_memory has it, whichever space holds it; elsewhere 0
};

/// A space that one asks about: a small value, as cheap to keep as the space. Any thread.
class UNIBUF_API accelerator {
public:
    explicit constexpr accelerator(space where) noexcept : where_(where) {}

    constexpr space where() const noexcept { return where_; }

    /// What devices() tells of this space; loads no other driver.
    device_info properties() const;

    /// Asked at each call: costs memory_of, and a short look at every buffer that lies in a pool, which takes a lock
    /// when it is acquired next. Other threads go on meanwhile, so the figures are not all of one moment; but never is
    /// more pooled than held. Throws what memory_of throws.
    accelerator_memory memory() const;

    friend constexpr bool operator==(accelerator, accelerator) noexcept = default;

private:
    space where_;
};

/// Of the default device, as it is now: see default_device.
UNIBUF_API accelerator get_accelerator();
UNIBUF_API accelerator get_accelerator(space where);

}  // namespace unibuf
