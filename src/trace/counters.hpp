// trace/counters.hpp: what all buffers together have moved and hold.
#pragma once

#include <cstdint>
#include <utility>

#include "unibuf/statistics.hpp"

namespace unibuf::trace {

inline constexpr std::size_t causes = static_cast<std::size_t>(cause::copy_to) + 1;

// Lock-free, so that different buffers do not contend.
void count_transfer(space from, space to, cause why, std::uint64_t bytes) noexcept;
void count_publication() noexcept;
void count_fence_wait() noexcept;

/// The one observer, or null.
transfer_observer* observer() noexcept;

/// Bytes of memory held in a space, as long as this lives.
class held_bytes {
public:
    held_bytes() noexcept = default;
    held_bytes(space where, std::uint64_t bytes) noexcept;
    held_bytes(held_bytes&& other) noexcept
        : where_(other.where_), bytes_(std::exchange(other.bytes_, std::uint64_t{0})) {}
    held_bytes& operator=(held_bytes&& other) noexcept {
        std::swap(where_, other.where_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~held_bytes();

private:
    space where_;
    std::uint64_t bytes_ = 0;
};

}  // namespace unibuf::trace
