// unibuf/fence.hpp: the completion of queued device work.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "unibuf/export.hpp"
#include "unibuf/space.hpp"

namespace unibuf {

/// A timeout that never passes. Where an access has it, as it has by default, set_default_timeout says how long it
/// waits.
inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

/// A fence is a value that may be copied; all copies stand for the same work. A default fence stands for work that is
/// done.
class UNIBUF_API fence {
public:
    /// The part of a fence that a backend implements. Its destruction waits for nothing.
    class work {
    public:
        virtual ~work();

        /// Waits as fence::wait does, and returns what it returns.
        virtual bool wait(std::chrono::nanoseconds timeout) = 0;
    };

    fence() noexcept = default;
    explicit fence(std::shared_ptr<work> queued) noexcept : queued_(std::move(queued)) {}

    /// Waits until the work before this fence is done, at most `timeout`.
    ///
    /// Returns true when it is done; false on timeout, and the fence stays usable. Throws error(device_lost),
    /// error(transfer_failed), or error(invalid_argument) for a negative time. Any thread may wait; several may at
    /// once.
    bool wait(std::chrono::nanoseconds timeout = forever) const {
        if (timeout < std::chrono::nanoseconds::zero()) refuse(timeout);
        return !queued_ || queued_->wait(timeout);
    }

    bool done() const { return wait(std::chrono::nanoseconds::zero()); }

    /// Returns the backend's own side of this fence, or null where there is nothing to wait for.
    work* native() const noexcept { return queued_.get(); }

private:
    [[noreturn]] static void refuse(std::chrono::nanoseconds timeout);

    std::shared_ptr<work> queued_;
};

/// A queue of device work that belongs to the caller: a cl_command_queue, a CUDA stream. The function `queue_of` in the
/// header of each API makes one. A default queue names none.
struct queue {
    void* native = nullptr;

    explicit operator bool() const noexcept { return native != nullptr; }
};

/// Returns a fence of all work that was submitted until now: to the queue `on`, or, where none is named, to the whole
/// device, as far as its API can tell (see opencl::add_queue and cuda::use_streams). At a space that has no queues the
/// fence is done at once. Throws error(device_lost), error(device_unavailable) where a context of the caller's cannot
/// be had here, and error(invalid_argument) for a queue of another space.
UNIBUF_API fence record_fence(space where, queue on = {});

}  // namespace unibuf
