// backends/opencl/context.cpp: queues, known and own.
#include "backends/opencl/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string_view>

#include "backends/opencl/native_copies.hpp"
#include "containers/room.hpp"

namespace unibuf::backends::cl {

void check_is_of_host(cl_command_queue queue) {
    if (queue_info<cl_bitfield>(queue, queue_properties) & queue_on_device) {
        throw error(error_code::invalid_argument, "an OpenCL queue on the device was named: name one of the host");
    }
}

namespace {

/// Returns whether clFinish may return before work is done that was started by clFlush, as in rusticl of Mesa 22.3;
/// that of Mesa 25.0 waits.
bool finishes_early(cl_device_id device) {
    cl_platform_id platform = nullptr;
    char name[16] = {};     // longer names are others', and an error
    char version[32] = {};  // as "22.3.6"
    int major = 0;
    return api().clGetDeviceInfo(device, device_platform, sizeof platform, &platform, nullptr) == success &&
           api().clGetPlatformInfo(platform, platform_name, sizeof name, name, nullptr) == success &&
           name == std::string_view("rusticl") &&
           api().clGetDeviceInfo(device, driver_version, sizeof version, version, nullptr) == success &&
           std::sscanf(version, "%d.", &major) == 1 && major < 25;
}

}  // namespace

context::context(cl_device_id device, std::string description)
    : description_(std::move(description)),
      native_functions_(cl::runs_native_functions(device)),
      finishes_early_(finishes_early(device)) {
    handles_.device = device;
    cl_int status = success;
    handles_.context = api().clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    if (status != success) {
        fail(status, fmt::format("{}: no OpenCL context can be made", description_), error_code::device_unavailable);
    }
    try {
        handles_.queue = own_.queue = make_queue();
        own_.number = 1;
    } catch (...) {
        api().clReleaseContext(handles_.context);
        throw;
    }
}

context::context(const opencl::handles& callers, std::string description)
    : handles_(callers),
      description_(std::move(description)),
      native_functions_(cl::runs_native_functions(callers.device)),
      finishes_early_(finishes_early(callers.device)),
      own_{.queue = callers.queue, .end = {}, .number = 1} {
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

context::target context::queue_for(queue on) {
    api();  // Throws in a forked child, where the mutex may be locked for good. So do the calls below.
    auto* const named = static_cast<cl_command_queue>(on.native);
    if (named == handles_.queue) return {named};
    const std::lock_guard lock(mutex_);
    if (!named || (!find(named) && forgotten_.contains(named))) {
        forget_released();
        join(named_);
        return {handles_.queue};
    }
    if (named == idle_) return {named};
    const known_queue& known = remember(named);
    if (known.in_order) return {.queue = known.in_order, .out_of_order = named};
    return {named};
}

std::uint64_t context::identify(queue on) {
    api();
    auto* const named = static_cast<cl_command_queue>(on.native);
    if (named == handles_.queue) return own_.number;
    const std::lock_guard lock(mutex_);
    const known_queue& known = remember(named);
    return known.in_order ? known.number | out_of_order : known.number;
}

cl_command_queue context::idle_queue() {
    api();
    const std::lock_guard lock(mutex_);
    if (!idle_) idle_ = make_queue();
    forgotten_.erase(idle_);  // it may have got the handle of a queue that has been released
    return idle_;
}

void context::retain(cl_command_queue queue) const {
    if (const cl_int status = api().clRetainCommandQueue(queue); status != success) {
        fail(status, fmt::format("{}: the queue cannot be kept", description_), error_code::invalid_argument);
    }
}

context::known_queue* context::find(cl_command_queue named) noexcept {
    const auto found = std::ranges::find(named_, named, &known_queue::queue);
    return found != named_.end() ? &*found : nullptr;
}

void context::check_usable(cl_command_queue named) const {
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
    check_is_of_host(named);
}

context::known_queue& context::remember(cl_command_queue named) {
    if (known_queue* const known = find(named)) return *known;
    check_usable(named);
    if (named_.size() >= look_from_) forget_released();
    make_room(named_);
    known_queue known{.queue = named, .end = {}, .number = ++numbers_};
    if (queue_info<cl_bitfield>(named, queue_properties) & queue_out_of_order) known.in_order = make_queue();
    try {
        retain(named);
    } catch (...) {
        if (known.in_order) api().clReleaseCommandQueue(known.in_order);
        throw;
    }
    forgotten_.erase(named);
    // Work without a name was on the own queue until now.
    if (const auto end = own_.end.lock()) end->end_here();
    own_.end.reset();
    return named_.emplace_back(std::move(known));
}

fence context::end_of(queue on) {
    api();
    auto* const named = static_cast<cl_command_queue>(on.native);
    {
        const std::lock_guard lock(mutex_);
        // Work without a name may be on any queue that is known now; what comes later on others is no part of it.
        if (named == handles_.queue || (!named && named_.empty())) return end_of(own_);
        if (named && (find(named) || !forgotten_.contains(named))) {
            known_queue& known = remember(named);
            if (!known.in_order) return end_of(known);
        } else {
            on = {};
        }
    }
    return mark(on ? named : queue_for({}).queue);
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
    if (finishes_early_) {
        mark(queue).wait();
        return;
    }
    const cl_int status = api().clFinish(queue);
    if (status != success) fail(status, fmt::format("{}: a queue cannot be waited for", description_));
}

std::vector<event> context::join(std::span<const known_queue> queues) {
    if (queues.empty()) return {};
    std::vector<event> ends(queues.size());
    std::vector<cl_event> natives;
    for (std::size_t i = 0; i < queues.size(); ++i) {
        cl_int status = api().clEnqueueMarkerWithWaitList(queues[i].queue, 0, nullptr, ends[i].out());
        if (status == success) status = api().clFlush(queues[i].queue);
        if (status != success) fail(status, fmt::format("{}: a queue that was named cannot be joined", description_));
        natives.push_back(ends[i].native());
    }
    set_barrier(handles_.queue, natives);
    return ends;
}

void context::forget_released() {
    release_done();
    const auto is_ours_alone = [](const known_queue& each) {
        return queue_info<cl_uint>(each.queue, queue_reference_count) == 1;
    };
    const auto first = std::ranges::partition(named_, std::not_fn(is_ours_alone)).begin();
    const std::span gone(first, named_.end());
    std::vector<event> ends = join(gone);
    leaving_.reserve(leaving_.size() + gone.size());
    for (const known_queue& each : gone) forgotten_.insert(each.queue);
    for (std::size_t i = 0; i < gone.size(); ++i) leaving_.push_back({std::move(gone[i]), std::move(ends[i])});
    named_.erase(first, named_.end());
    look_from_ = std::max(least_to_look, 2 * named_.size());
}

void context::release_done() noexcept {
    std::erase_if(leaving_, [](leaving_queue& each) {
        cl_int status = complete;
        api().clGetEventInfo(each.end.native(), event_command_execution_status, sizeof status, &status, nullptr);
        if (status > complete) return false;
        each.end = event();  // goes before its queue
        release(each.of);
        return true;
    });
}

void context::release(const known_queue& of) noexcept {
    if (of.in_order) api().clReleaseCommandQueue(of.in_order);
    api().clReleaseCommandQueue(of.queue);
}

void context::set_barrier(cl_command_queue on, std::span<const cl_event> after) {
    const cl_int status =
        api().clEnqueueBarrierWithWaitList(on, static_cast<cl_uint>(after.size()), after.data(), nullptr);
    if (status != success) fail(status, fmt::format("{}: queued work cannot be ordered", description_));
}

/// Lets what comes later on an out-of-order queue wait for an event. PoCL 3.1 keeps of two barriers on such a queue the
/// second alone. So the barrier names a marker, and a marker waits for the barriers before it: nobody may set another
/// barrier between the two.
void context::set_barrier_out_of_order(cl_command_queue on, cl_event after) {
    const std::lock_guard lock(barriers_);
    event reached;
    const cl_int status = api().clEnqueueMarkerWithWaitList(on, 1, &after, reached.out());
    if (status != success) fail(status, fmt::format("{}: queued work cannot be ordered", description_));
    set_barrier(on, {&reached.native(), 1});
}

fence context::mark(cl_command_queue queue) {
    event here;
    const cl_int status = api().clEnqueueMarkerWithWaitList(queue, 0, nullptr, here.out());
    if (status != success) fail(status, fmt::format("{}: a fence cannot be queued", description_));
    return submitted({queue}, std::move(here));
}

fence context::record(queue on) {
    const target at = queue_for(on);
    return mark(at.out_of_order ? at.out_of_order : at.queue);
}

bool context::order(const fence& before, queue on) {
    if (!before.native()) return true;
    const target to = queue_for(on);
    fence marked = before;
    if (auto* const late = dynamic_cast<queue_end*>(before.native())) {
        if (!late->is_in(*this)) return false;
        // Queues are in order, and the own one is behind all others now.
        if (!on || late->queue() == to.queue) return true;
        marked = late->so_far();
        if (!marked.native()) return true;
    }
    const cl_event end = event_of(marked);
    cl_context owner = nullptr;
    if (!end || api().clGetEventInfo(end, event_context, sizeof owner, &owner, nullptr) != success) return false;
    if (owner != handles_.context) return false;
    set_barrier(to.queue, {&end, 1});
    if (to.out_of_order) set_barrier_out_of_order(to.out_of_order, end);
    return true;
}

/// Needs the mutex.
std::vector<cl_command_queue> context::all_queues() const {
    std::vector<cl_command_queue> result{handles_.queue};
    if (idle_) result.push_back(idle_);
    const auto add = [&](const known_queue& each) {
        result.push_back(each.queue);
        if (each.in_order) result.push_back(each.in_order);
    };
    std::ranges::for_each(named_, add);
    std::ranges::for_each(leaving_, add, &leaving_queue::of);
    return result;
}

std::size_t context::queues_left_alone() {
    api();
    const std::lock_guard lock(mutex_);
    release_done();  // an event may keep its queue
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

fence context::submitted(const target& on, event last) {
    const cl_event native = last.native();
    fence end = fence_of(std::move(last));
    try {
        start(on.queue);
        if (!on.out_of_order) return end;
        set_barrier_out_of_order(on.out_of_order, native);
        start(on.out_of_order);
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
