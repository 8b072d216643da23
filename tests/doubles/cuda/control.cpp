// tests/doubles/cuda/control.cpp
#include "doubles/cuda/control.hpp"

#include <span>

#include "doubles/cuda/settings.hpp"
#include "doubles/cuda/stop.hpp"
#include "doubles/cuda/streams.hpp"

namespace cuda_double {
namespace {

void reset() {
    driver& in = driver::instance();
    const std::scoped_lock lock(in.mutex);
    in.failures.clear();
    in.hits = 0;
    in.counts.clear();
    in.memory.most_on_device = usual_limit;
    in.memory.most_pinned = usual_limit;
    in.attributes.clear();
    in.hostile = chosen().hostile;
    in.queues = 0;
    in.give_next = nullptr;
}

void fail(const char* function, std::uint64_t after, std::uint64_t times, int status) {
    driver& in = driver::instance();
    const std::scoped_lock lock(in.mutex);
    in.failures.push_back({.function = function ? function : "", .after = after, .times = times, .status = status});
}

void lose(int device, int status) {
    driver& in = driver::instance();
    const std::scoped_lock lock(in.mutex);
    CUctx_st* const context = in.contexts.at(static_cast<std::size_t>(device));
    if (!context) stop("a device cannot be lost before it has a context");
    context->lost = status;
}

void limit_device_memory(std::size_t bytes) {
    driver& in = driver::instance();
    const std::scoped_lock lock(in.mutex);
    in.memory.most_on_device = bytes;
}

void limit_pinned_memory(std::size_t bytes) {
    driver& in = driver::instance();
    const std::scoped_lock lock(in.mutex);
    in.memory.most_pinned = bytes;
}

void set_attribute(int which, int value) {
    driver& in = driver::instance();
    const std::scoped_lock lock(in.mutex);
    in.attributes[which] = value;
}

void set_hostile(bool hostile) {
    driver& in = driver::instance();
    const std::scoped_lock lock(in.mutex);
    in.hostile = hostile;
}

void share_queues(std::size_t count) {
    driver& in = driver::instance();
    const std::scoped_lock lock(in.mutex);
    in.queues = count;
}

void make_green(stream_handle stream) {
    const std::scoped_lock lock(driver::instance().mutex);
    stream->green = true;
}

void give_again(stream_handle destroyed) {
    driver& in = driver::instance();
    const std::scoped_lock lock(in.mutex);
    if (!destroyed->destroyed) stop("the handle of a stream that lives was to be given again");
    in.give_next = destroyed;
}

template <class Member>
std::uint64_t counted(const char* function, Member member) {
    driver& in = driver::instance();
    const std::scoped_lock lock(in.mutex);
    std::uint64_t result = 0;
    for (const auto& [name, each] : in.counts) {
        if (!function || name == function) result += each.*member;
    }
    return result;
}

std::uint64_t calls(const char* function) { return counted(function, &count::calls); }
std::uint64_t bytes(const char* function) { return counted(function, &count::bytes); }

std::uint64_t hits() {
    driver& in = driver::instance();
    const std::scoped_lock lock(in.mutex);
    return in.hits;
}

std::size_t allocations() {
    driver& in = driver::instance();
    const std::scoped_lock lock(in.mutex);
    return in.memory.live();
}

std::byte* address(device_pointer of) { return driver::instance().memory.bytes_of(of); }

int launch(stream_handle on, void (*run)(void*), void* data, const touched* what, std::size_t count) {
    call from("a kernel", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUstream_st* const stream = stream_behind(from, on);
    if (!stream) return invalid_handle;
    std::vector<footprint> touches;
    for (const touched& each : std::span(what, count)) {
        region* const found = from.in().memory.find(each.address);
        if (!found || each.bytes > found->end() - each.address) {
            stop("a kernel touches 0x%llx, which is no memory of the device", each.address);
        }
        if (found->freed) stop("a kernel touches 0x%llx: that memory was freed", each.address);
        touches.push_back({found, each.address, each.bytes, each.writes});
    }
    return submit(from, *stream, touches, [run, data] { run(data); });
}

}  // namespace
}  // namespace cuda_double

extern "C" __attribute__((visibility("default"))) const cuda_double::control* unibuf_cuda_double_control() {
    using namespace cuda_double;
    static constexpr control all{.reset = reset,
                                 .fail = fail,
                                 .lose = lose,
                                 .limit_device_memory = limit_device_memory,
                                 .limit_pinned_memory = limit_pinned_memory,
                                 .calls = calls,
                                 .bytes = bytes,
                                 .allocations = allocations,
                                 .address = address,
                                 .launch = launch,
                                 .set_attribute = set_attribute,
                                 .set_hostile = set_hostile,
                                 .share_queues = share_queues,
                                 .make_green = make_green,
                                 .give_again = give_again,
                                 .hits = hits};
    return &all;
}
