// backends/opencl/alias.cpp: maps what the host is shown, unmaps what the device is.
#include "backends/opencl/alias.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace unibuf::backends::cl {
alias::alias(context& in, numbered_mem native, std::span<std::byte> host)
    : allocation(in, native, host.size()), host_(host) {
    // The host may touch its bytes as soon as this returns. The idle queue is behind nobody's work.
    apply({.unmap = {}, .map = {{0, host.size(), mapping::write}}}, in.idle_queue());
    mapped_.front().done.wait();
}

alias::~alias() {
    // The host may free its bytes as soon as this returns. Whatever fails here, the memory object goes.
    try {
        const cl_command_queue queue = in().idle_queue();
        apply({.unmap = pieces(), .map = {}}, queue).wait();
    } catch (...) {
    }
}

fence alias::publish_to_host(std::size_t offset, std::size_t bytes, access what, queue on) {
    const cl_command_queue queue = in().queue_for(on);
    const std::lock_guard lock(mutex_);
    const mapping least = what == access::read ? mapping::read : mapping::write;
    apply(for_host(pieces(), offset, offset + bytes, least), queue);
    return all_mapped(offset, offset + bytes, queue);
}

fence alias::publish_to_device(std::size_t offset, std::size_t bytes, access what, queue on) {
    const cl_command_queue queue = in().queue_for(on);
    const std::lock_guard lock(mutex_);
    const mapping most = what == access::read ? mapping::read : mapping::none;
    return apply(for_device(pieces(), offset, offset + bytes, most), queue);
}

fence alias::apply(const remapping& change, cl_command_queue queue) {
    fence last;
    mapped_.reserve(mapped_.size() + change.map.size());
    for (const piece& each : change.unmap) last = unmap(each, queue);
    for (const piece& each : change.map) last = map(each, queue);
    if (last.native()) in().start(queue);
    return last;
}

fence alias::unmap(const piece& what, cl_command_queue queue) {
    const auto found = std::ranges::find(mapped_, what, &mapped::where);
    const cl_event made = event_of(found->done);
    event done;
    const cl_int status =
        api().clEnqueueUnmapMemObject(queue, native(), host_.data() + what.begin, 1, &made, done.out());
    if (status != success) fail(status, asked("unmap", what.begin, what.end - what.begin));
    mapped_.erase(found);
    return fence_of(std::move(done));
}

fence alias::map(const piece& what, cl_command_queue queue) {
    const std::size_t bytes = what.end - what.begin;
    const cl_bitfield flags = what.how == mapping::read ? map_read : map_read | map_write;
    event done;
    cl_int status = success;
    void* address =
        api().clEnqueueMapBuffer(queue, native(), no, flags, what.begin, bytes, 0, nullptr, done.out(), &status);
    if (status != success) fail(status, asked("map", what.begin, bytes));
    if (address != host_.data() + what.begin) {
        api().clEnqueueUnmapMemObject(queue, native(), address, 0, nullptr, nullptr);
        throw error(error_code::transfer_failed,
                    asked("map", what.begin, bytes) + ": the driver put it elsewhere than in the host's memory");
    }
    const auto after = std::ranges::upper_bound(mapped_, what.begin, {}, [](const mapped& m) { return m.where.begin; });
    return mapped_.insert(after, {what, fence_of(std::move(done))})->done;
}

fence alias::all_mapped(std::size_t begin, std::size_t end, cl_command_queue queue) {
    std::vector<fence> pending;
    for (const mapped& each : mapped_) {
        const bool inside = each.where.end > begin && each.where.begin < end;
        if (inside && !each.done.done()) pending.push_back(each.done);
    }
    if (pending.size() < 2) return pending.empty() ? fence() : pending.front();
    for (const fence& each : pending) in().order(each, queue);
    return in().mark(queue);
}

std::vector<piece> alias::pieces() const {
    std::vector<piece> result;
    result.reserve(mapped_.size());
    for (const mapped& each : mapped_) result.push_back(each.where);
    return result;
}

}  // namespace unibuf::backends::cl
