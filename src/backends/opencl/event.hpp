// backends/opencl/event.hpp: events, and the fences made of them.
#pragma once

#include <utility>
#include <vector>

#include "backends/fence_of.hpp"
#include "backends/opencl/api.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::backends::cl {

/// Owns a cl_event.
class event {
public:
    event() noexcept = default;
    event(event&& other) noexcept : native_(std::exchange(other.native_, nullptr)) {}
    event& operator=(event&& other) noexcept {
        std::swap(native_, other.native_);
        return *this;
    }
    ~event() {
        if (native_ && usable()) api().clReleaseEvent(native_);
    }

    explicit operator bool() const noexcept { return native_ != nullptr; }
    const cl_event& native() const noexcept { return native_; }

    /// Returns where an enqueue puts the event that it makes.
    cl_event* out() noexcept { return &native_; }

private:
    cl_event native_ = nullptr;
};

/// The queued work before an event.
class queued_work final : public fence::work {
public:
    explicit queued_work(event done) noexcept : done_(std::move(done)) {}

    bool wait(std::chrono::nanoseconds timeout) override;

    const cl_event& native() const noexcept { return done_.native(); }

private:
    event done_;
};

inline fence fence_of(event done) { return backends::fence_of<queued_work>(std::move(done)); }

/// Returns the event of a fence, or null where it has none.
inline cl_event event_of(const fence& work) noexcept {
    const auto* queued = dynamic_cast<const queued_work*>(work.native());
    return queued ? queued->native() : nullptr;
}

}  // namespace unibuf::backends::cl
