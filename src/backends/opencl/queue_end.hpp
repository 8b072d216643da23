// backends/opencl/queue_end.hpp: the end of what is on a queue, which no driver is asked for before somebody waits.
#pragma once

#include <mutex>

#include "backends/backend.hpp"
#include "backends/opencl/api.hpp"

namespace unibuf::backends::cl {

class context;

/// The work that is on a queue when somebody first asks for it. All who ask for the end of a queue until then share it.
class queue_end final : public late_work {
public:
    /// `queue` is retained.
    queue_end(context& in, cl_command_queue queue);
    ~queue_end() override;
    queue_end(const queue_end&) = delete;
    queue_end& operator=(const queue_end&) = delete;

    bool wait(std::chrono::nanoseconds timeout) override;

    fence so_far() override;

    /// Ends what is part of the work, without a look at the driver.
    void end_here() noexcept { make_known(); }

    /// Returns whether the work is in this context.
    bool is_in(const context& other) const noexcept { return &in_ == &other; }

    /// Returns the queue that the work is on.
    cl_command_queue queue() const noexcept { return queue_; }

private:
    context& in_;
    cl_command_queue queue_;
    void close();

    std::mutex mutex_;
    fence mark_;
    bool reached_ = false;
};

}  // namespace unibuf::backends::cl
