// unibuf/transfer_cost.hpp: what a transfer between the host and a device costs, and what follows from it.
#pragma once

#include <chrono>

#include "unibuf/export.hpp"
#include "unibuf/space.hpp"

namespace unibuf {

/// The cost of one more transfer: it takes `each`, whatever its size, and its bytes go at `bytes_per_second`.
///
/// Where two parts that have to move lie so close that the bytes between them cost less than another transfer, and
/// those bytes are current at both ends and nobody uses them, all of it is one transfer, and counts as one with all its
/// bytes. With `each` = 0 no byte ever moves that is current already.
struct transfer_cost {
    std::chrono::nanoseconds each{0};
    double bytes_per_second = 0;
};

/// Returns what a transfer between the host and `where` costs. At a device that queues its work this call measures it,
/// unless it was set: that takes some milliseconds, and two MiB on either side for as long, and is best done while the
/// device has nothing else to do. Accesses measure nothing: until this or set_transfer_cost is called they take `each`
/// for 1 us and the rate for 16 GB/s, about what PCIe 4 has. At other devices `each` is 0. Throws what the device
/// throws.
UNIBUF_API transfer_cost transfer_cost_of(space where);

/// Sets the cost; accesses that begin later go by it. Any thread. Throws error(invalid_argument) for negative values.
UNIBUF_API void set_transfer_cost(space where, transfer_cost cost);

}  // namespace unibuf
