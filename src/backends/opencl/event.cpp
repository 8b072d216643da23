// backends/opencl/event.cpp: waiting.
#include "backends/opencl/event.hpp"

#include "backends/poll.hpp"

namespace unibuf::backends::cl {
namespace {

/// Returns whether the work is done. A fence says that work failed, not that it lacked memory: the caller asked for
/// none.
bool done(cl_event native) {
    cl_int status = 0;
    const cl_int answer = api().clGetEventInfo(native, event_command_execution_status, sizeof status, &status, nullptr);
    if (answer != success) fail(answer, "OpenCL cannot tell whether queued work is done");
    if (status >= complete) return status == complete;
    const bool lost = status == device_not_available || status == nvidia_illegal_access;
    throw error(lost ? error_code::device_lost : error_code::transfer_failed,
                "work that was queued on an OpenCL device failed: " + name_of(status));
}

}  // namespace

bool queued_work::wait(std::chrono::nanoseconds timeout) {
    if (timeout == forever) {
        // To ask again and again instead would keep the core from the driver's thread: that is faster on some machines,
        // and on others takes half as long again.
        const cl_int answer = api().clWaitForEvents(1, &native());
        if (done(native())) return true;  // throws what went wrong, and tells more than `answer`
        fail(answer, "waiting for an OpenCL device failed");
    }
    // OpenCL has no wait with a timeout, and an event's callback may come after the event's owner is gone.
    return poll(timeout, [this] { return done(native()); });
}

}  // namespace unibuf::backends::cl
