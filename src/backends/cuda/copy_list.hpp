// backends/cuda/copy_list.hpp: many copies between the host and a device, in as few calls as the driver takes.
#pragma once

#include <cstddef>
#include <span>

#include "backends/backend.hpp"
#include "backends/cuda/api.hpp"

namespace unibuf::backends::cuda {

struct piece {
    device_pointer allocation = 0;  // of the driver, that `at` is in: no copy of the driver's spans two
    device_pointer at = 0;
    std::byte* host = nullptr;  // only read where it goes to the device
    std::size_t bytes = 0;
};

/// Puts copies of `pieces`, which are apart, on `stream`, with the context current: rows of a rectangle as one 2-D
/// copy, others as one batch where the driver is 12.8 or newer, and as a copy each where it is older, on the legacy
/// stream, which takes no batches, and for pageable memory. Where it fails, some may be under way.
result enqueue(direction way, std::span<const piece> pieces, bool pinned, stream_handle stream);

}  // namespace unibuf::backends::cuda
