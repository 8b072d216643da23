// backends/metal/committed_work.cpp: waiting.
#include "backends/metal/committed_work.hpp"

#include "backends/poll.hpp"

namespace unibuf::backends::metal {

/// Returns whether the work is done. A fence says that work failed, not that it lacked memory: the caller asked for
/// none.
bool committed_work::is_done() const {
    const pool drained;
    const ns_uinteger status = status_of(commands_.get());
    if (status != status_error) return status == status_completed;
    const id failure = error_of(commands_.get());
    const long code = failure ? code_of(failure) : 0;
    const bool lost = code == error_access_revoked || code == error_not_permitted || code == error_device_removed;
    throw error(lost ? error_code::device_lost : error_code::transfer_failed,
                "work that was queued on a Metal device failed: " + description_of(failure, "no reason was given"));
}

bool committed_work::wait(std::chrono::nanoseconds timeout) {
    // One queue does one after the other, so that the first ones are done where the last is: they only tell of errors.
    if (timeout == forever) {
        const pool drained;
        wait_until_completed(commands_.get());
        for (const fence& each : earlier_) each.wait();
        return is_done();
    }
    // A command buffer has no wait with a timeout, and calls its handlers on threads of its own.
    if (!poll(timeout, [this] { return is_done(); })) return false;
    for (const fence& each : earlier_) each.wait();
    return true;
}

}  // namespace unibuf::backends::metal
