// buffer/named_queue.hpp: a queue that an access names, told apart from those that get its handle later.
#pragma once

#include <cstdint>

#include "backends/backend.hpp"
#include "unibuf/fence.hpp"
#include "unibuf/space.hpp"

namespace unibuf::detail {

/// A queue of a device. A driver may give the handle of a queue that has gone to another one, so a handle alone does
/// not say that two works are in one order.
struct named_queue {
    queue handle{};
    std::uint64_t number = 0;  // what backends::device::identify says; 0 where no queue is named, or none can tell

    operator queue() const noexcept { return handle; }
    explicit operator bool() const noexcept { return static_cast<bool>(handle); }

    /// Returns whether work on it begins after what was put there before.
    bool is_in_order() const noexcept { return (number & backends::out_of_order) == 0; }

    /// Returns whether both name one queue, or both name none.
    friend bool operator==(const named_queue& one, const named_queue& other) noexcept {
        return one.handle.native == other.handle.native && one.number == other.number && (one.number != 0 || !one);
    }
};

/// Checks the queue that an access at `where` names. Throws error(invalid_argument) for one that cannot order work
/// there. At the host it is a queue of whatever device bytes come from, and is checked when they do.
named_queue checked_queue(space where, queue on);

}  // namespace unibuf::detail
