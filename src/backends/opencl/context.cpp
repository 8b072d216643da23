// backends/opencl/context.cpp: queues, known and own.
#include "backends/opencl/context.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/opencl/native_copies.hpp"
#include "containers/room.hpp"

namespace unibuf::backends::cl {

context::context(cl_device_id device, std::string description)
    : description_(std::move(description)), native_functions_(cl::runs_native_functions(device)) {
    handles_.device = device;
    cl_int status = success;
    handles_.context = api().clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    if (status != success) {
        fail(status, fmt::format("{}: no OpenCL context can be made", description_), error_code::device_unavailable);
    }
    try {
        handles_.queue = own_.queue = make_queue();
    } catch (...) {
        api().clReleaseContext(handles_.context);
        throw;
    }
}

context::context(const opencl::handles& callers, std::string description)
    : handles_(callers),
      description_(std::move(description)),
      native_functions_(cl::runs_native_functions(callers.device)),
      own_{callers.queue, {}} {
    const auto retained = [](cl_int status) {
        if (status != success) fail(status, "the caller's OpenCL objects cannot be kept", error_code::invalid_argument);
    };
    retained(api().clRetainContext(handles_.context));
    retained(api().clRetainDevice(handles_.device));
    retained(api().clRetainCommandQueue(handles_.queue));
}

cl_command_queue context::make_queue() {
    cl_int status = success;
    const cl_command_queue made = api().clCreateCommandQueue(handles_.context, handles_.device, 0, &status);
    if (status != success) {
        fail(status, fmt::format("{}: no OpenCL queue can be made", description_), error_code::device_unavailable);
    }
    return made;
}

cl_command_queue context::queue_for(queue on) {
    api();  // Throws in a forked child, where the mutex may be locked for good. So do the calls below.
    auto* const named = static_cast<cl_command_queue>(on.native);
    if (named == nullptr || named == handles_.queue) {
        if (named == nullptr) join();
        return handles_.queue;
    }
    const std::lock_guard lock(mutex_);
    if (named != idle_) remember(named);
    return named;
}

void context::check_queue(queue on) {
    api();
    auto* const named = static_cast<cl_command_queue>(on.native);
    if (named == handles_.queue) return;
    const std::lock_guard lock(mutex_);
    remember(named);
}

cl_command_queue context::idle_queue() {
    api();
    const std::lock_guard lock(mutex_);
    if (!idle_) idle_ = make_queue();
    return idle_;
}

void context::retain(cl_command_queue queue) const {
    if (const cl_int status = api().clRetainCommandQueue(queue); status != success) {
        fail(status, fmt::format("{}: the queue cannot be kept", description_), error_code::invalid_argument);
    }
}

context::known_queue& context::remember(cl_command_queue named) {
    if (const auto found = std::ranges::find(named_, named, &known_queue::queue); found != named_.end()) return *found;
    const auto refuse = [&](const char* what, const char* cure) {
        throw error(error_code::invalid_argument,
                    fmt::format("{} was named for the space on {}: {}", what, description_, cure));
    };
    if (queue_info<cl_context>(named, queue_context) != handles_.context) {
        refuse("a queue of another OpenCL context",
               "make it in the space's own context, or a space of its context, by opencl::use");
    }
    if (queue_info<cl_device_id>(named, queue_device) != handles_.device) {
        refuse("a queue of another OpenCL device", "name one of the space's device, or the space of its device");
    }
    if (queue_info<cl_bitfield>(named, queue_properties) & queue_out_of_order) {
        refuse("an out-of-order queue",
               "unibuf orders work by in-order queues, so name one of those, or none, and end the lease with an event "
               "of the work");
    }
    make_room(named_);
    retain(named);
    // Work without a name was on the own queue until now.
    if (const auto end = own_.end.lock()) end->end_here();
    own_.end.reset();
    return named_.emplace_back(known_queue{named, {}});
}

fence context::end_of(queue on) {
    api();
    auto* const named = static_cast<cl_command_queue>(on.native);
    {
        const std::lock_guard lock(mutex_);
        // Work without a name may be on any queue that is known now; what comes later on others is no part of it.
        if (named == handles_.queue || (!named && named_.empty())) return end_of(own_);
        if (named) return end_of(remember(named));
    }
    return mark(queue_for({}));
}

fence context::end_of(known_queue& of) {
    std::shared_ptr<queue_end> end = of.end.lock();
    if (!end) {
        end = std::make_shared<queue_end>(*this, of.queue);
        of.end = end;
    }
    return fence(std::move(end));
}

void context::close(const queue_end& end) {
    const std::lock_guard lock(mutex_);
    const auto forget = [&](known_queue& each) {
        if (each.end.lock().get() == &end) each.end.reset();
    };
    forget(own_);
    std::ranges::for_each(named_, forget);
}

void context::finish(cl_command_queue queue) {
    const cl_int status = api().clFinish(queue);
    if (status != success) fail(status, fmt::format("{}: a queue cannot be waited for", description_));
}

void context::join() {
    const std::lock_guard lock(mutex_);
    if (named_.empty()) return;
    std::vector<event> ends(named_.size());
    std::vector<cl_event> natives;
    for (std::size_t i = 0; i < named_.size(); ++i) {
        cl_int status = api().clEnqueueMarkerWithWaitList(named_[i].queue, 0, nullptr, ends[i].out());
        if (status == success) status = api().clFlush(named_[i].queue);
        if (status != success) fail(status, fmt::format("{}: a queue that was named cannot be joined", description_));
        natives.push_back(ends[i].native());
    }
    const auto count = static_cast<cl_uint>(natives.size());
    const cl_int status = api().clEnqueueBarrierWithWaitList(handles_.queue, count, natives.data(), nullptr);
    if (status != success) fail(status, fmt::format("{}: queues cannot be joined", description_));

    std::erase_if(named_, [](const known_queue& each) {
        const bool ours_alone = queue_info<cl_uint>(each.queue, queue_reference_count) == 1;
        if (ours_alone) api().clReleaseCommandQueue(each.queue);
        return ours_alone;
    });
}

fence context::mark(cl_command_queue queue) {
    event here;
    const cl_int status = api().clEnqueueMarkerWithWaitList(queue, 0, nullptr, here.out());
    if (status != success) fail(status, fmt::format("{}: a fence cannot be queued", description_));
    return submitted(queue, std::move(here));
}

bool context::order(const fence& before, queue on) {
    if (!before.native()) return true;
    const cl_command_queue queue = queue_for(on);
    fence marked = before;
    if (auto* const late = dynamic_cast<queue_end*>(before.native())) {
        if (!late->is_in(*this)) return false;
        // Queues are in order, and the own one is behind all others now.
        if (!on || late->queue() == queue) return true;
        marked = late->so_far();
        if (!marked.native()) return true;
    }
    const cl_event end = event_of(marked);
    cl_context owner = nullptr;
    if (!end || api().clGetEventInfo(end, event_context, sizeof owner, &owner, nullptr) != success) return false;
    if (owner != handles_.context) return false;
    const cl_int status = api().clEnqueueBarrierWithWaitList(queue, 1, &end, nullptr);
    if (status != success) fail(status, fmt::format("{}: queued work cannot be ordered", description_));
    return true;
}

/// Needs the mutex.
std::vector<cl_command_queue> context::all_queues() const {
    std::vector<cl_command_queue> result{handles_.queue};
    if (idle_) result.push_back(idle_);
    for (const known_queue& each : named_) result.push_back(each.queue);
    return result;
}

std::size_t context::queues_left_alone() {
    api();
    const std::lock_guard lock(mutex_);
    const std::vector<cl_command_queue> all = all_queues();
    const auto is_ours_alone = [](cl_command_queue each) {
        return queue_info<cl_uint>(each, queue_reference_count) == 1;
    };
    return memories_ == 0 && std::ranges::all_of(all, is_ours_alone) ? all.size() : 0;
}

void context::release() {
    const std::lock_guard lock(mutex_);
    for (const cl_command_queue each : all_queues()) api().clReleaseCommandQueue(each);
    api().clReleaseContext(handles_.context);
}

void context::start(cl_command_queue queue) {
    const cl_int status = api().clFlush(queue);
    if (status != success) fail(status, fmt::format("{}: queued work cannot be started", description_));
}

fence context::submitted(cl_command_queue queue, event last) {
    fence end = fence_of(std::move(last));
    try {
        start(queue);
    } catch (...) {
        try {
            end.wait();
        } catch (const error&) {  // the first failure is told
        }
        throw;
    }
    return end;
}

}  // namespace unibuf::backends::cl
