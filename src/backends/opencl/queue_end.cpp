// backends/opencl/queue_end.cpp: the end of what is on a queue, which no driver is asked for before somebody waits.
#include "backends/opencl/queue_end.hpp"

#include "backends/opencl/context.hpp"

namespace unibuf::backends::cl {

queue_end::queue_end(context& in, cl_command_queue queue) : in_(in), queue_(queue) { in.retain(queue); }

queue_end::~queue_end() {
    if (usable()) api().clReleaseCommandQueue(queue_);
}

/// Ends what is part of the work: whoever asks for the end of the queue from now on gets another one.
void queue_end::close() {
    api();  // throws in a forked child, as in context::queue_for
    in_.close(*this);
    make_known();
}

bool queue_end::wait(std::chrono::nanoseconds timeout) {
    if (timeout != forever || is_known()) return so_far().wait(timeout);
    // To wait for the whole queue costs a driver less than to mark a place on it, and nothing where the queue is idle.
    close();
    in_.finish(queue_);
    const std::lock_guard lock(mutex_);
    reached_ = true;
    return true;
}

fence queue_end::so_far() {
    close();
    const std::lock_guard lock(mutex_);
    if (!reached_ && !mark_.native()) mark_ = in_.mark(queue_);
    return mark_;
}

}  // namespace unibuf::backends::cl
