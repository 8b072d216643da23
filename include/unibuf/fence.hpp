// unibuf/fence.hpp: the completion of queued device work.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "unibuf/export.hpp"
#include "unibuf/space.hpp"

namespace unibuf {

/// Waits without end.
inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

/// A value that may be copied; all copies stand for the same work. A default fence stands for work that is done.
class UNIBUF_API fence {
public:
    /// What a backend implements. Destruction waits for nothing.
    class work {
    public:
        virtual ~work();

        /// As fence::wait.
        virtual bool wait(std::chrono::nanoseconds timeout) = 0;
    };

    fence() noexcept = default;
    explicit fence(std::shared_ptr<work> queued) noexcept : queued_(std::move(queued)) {}

    /// Waits until the work before this fence is done, at most `timeout`.
    ///
    /// True when it is done; false on timeout, and the fence stays usable.
    /// Throws error(device_lost), error(transfer_failed), or error(invalid_argument) of a negative time. Any thread;
    /// several may wait at once.
    bool wait(std::chrono::nanoseconds timeout = forever) const {
        if (timeout < std::chrono::nanoseconds::zero()) refuse(timeout);
        return !queued_ || queued_->wait(timeout);
    }

    bool done() const { return wait(std::chrono::nanoseconds::zero()); }

    /// The backend's own side of this fence, or null where there is nothing to wait for.
    work* native() const noexcept { return queued_.get(); }

private:
    [[noreturn]] static void refuse(std::chrono::nanoseconds timeout);

    std::shared_ptr<work> queued_;
};

/// A queue of device work that belongs to the caller: a cl_command_queue, a CUDA stream. Made by the function `queue`
/// of the header for that API. A default one names no queue.
struct queue {
    void* native = nullptr;

    explicit operator bool() const noexcept { return native != nullptr; }
};

/// Stands for all work that was submitted to a space until now: to that queue, or, where none is named, to the whole
/// device, as far as its API can tell (see opencl::add_queue). Of a space that has no queues it is done. Throws
/// error(device_lost), error(device_unavailable) where a context of the caller's cannot be had here, and
/// error(invalid_argument) for a queue of another space.
UNIBUF_API fence record_fence(space where, queue on = {});

}  // namespace unibuf
