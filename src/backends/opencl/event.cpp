// backends/opencl/event.cpp: waiting.
#include "backends/opencl/event.hpp"

#include <algorithm>
#include <thread>

namespace unibuf::backends::cl {
namespace {

/// Whether the work is done. A fence says that work failed, not that it lacked memory: the caller asked for none.
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
    if (done(native())) return true;
    if (timeout <= std::chrono::nanoseconds::zero()) return false;
    if (timeout == forever) {
        const cl_int answer = api().clWaitForEvents(1, &native());
        if (done(native())) return true;  // throws what went wrong, and tells more than `answer`
        fail(answer, "waiting for an OpenCL device failed");
    }
    // OpenCL has no wait with a timeout, and an event's callback may come after the event's owner is gone.
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    std::chrono::nanoseconds nap = std::chrono::microseconds(5);
    for (;;) {
        const auto left = timeout - (clock::now() - begin);
        if (left <= std::chrono::nanoseconds::zero()) return done(native());
        std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(nap, left));
        if (done(native())) return true;
        nap = std::min<std::chrono::nanoseconds>(nap * 2, std::chrono::milliseconds(1));
    }
}

}  // namespace unibuf::backends::cl
