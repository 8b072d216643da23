// backends/cuda/copy_list.hpp: many copies between the host and a device, in as few calls as the driver takes.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "backends/backend.hpp"
#include "backends/cuda/api.hpp"

namespace unibuf::backends::cuda {

/// The driver's 2-D copies take rows that are so far apart at the most: CU_DEVICE_ATTRIBUTE_MAX_PITCH is never less.
inline constexpr std::size_t most_pitch = std::numeric_limits<int>::max();

struct piece {
    device_pointer allocation = 0;  // the driver's allocation that `at` is in: no copy of the driver's spans two
    device_pointer at = 0;
    std::byte* host = nullptr;  // only read where the copy goes to the device
    std::size_t bytes = 0;
};

inline std::size_t bytes_of(std::span<const piece> pieces) noexcept {
    std::size_t sum = 0;
    for (const piece& each : pieces) sum += each.bytes;
    return sum;
}

/// Rows of one size, at one distance from each other at either end.
struct plane {
    piece row{};  // the first
    std::size_t rows = 1;
    std::size_t device_pitch = 0;
    std::size_t host_pitch = 0;

    std::size_t bytes() const noexcept { return rows * row.bytes; }
};

/// Puts copies of `pieces`, which are apart, on `stream`, with the context current. Rows of a plane are one 2-D copy.
/// Others are one batch where `batches`, which takes pinned memory whose addresses the device has too, and where the
/// driver is 12.8 or newer; they are a copy each where it is older, and on the legacy stream, which takes no batches.
/// Where it fails, some may be under way.
result enqueue(direction way, std::span<const piece> pieces, bool batches, stream_handle stream);

/// Puts one 2-D copy on `stream`, with the context current. Its pitches are `most_pitch` at the most.
result enqueue(direction way, const plane& rows, bool batches, stream_handle stream);

}  // namespace unibuf::backends::cuda
