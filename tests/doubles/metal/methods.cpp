// doubles/metal/methods.cpp: the methods of queues, command buffers, their encoders, buffers and events.
#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>

#include "doubles/metal/counts.hpp"
#include "doubles/metal/device.hpp"
#include "doubles/metal/gpu.hpp"
#include "doubles/metal/library.hpp"
#include "doubles/metal/stop.hpp"

namespace metal_double {
namespace {

struct range {
    ns_uinteger location;
    ns_uinteger length;
};

// Buffers

void* contents(buffer* self, selector*) { return self->at_host(); }
ns_uinteger length(buffer* self, selector*) { return self->size(); }

// Events

std::uint64_t signaled_value(shared_event* self, selector*) { return gpu::only().value_of(*self); }
void set_signaled_value(shared_event* self, selector*, std::uint64_t value) { gpu::only().set_value(*self, value); }

// Queues

object* device_of_queue(queue* self, selector*) { return &self->made_by; }

object* command_buffer(queue* self, selector*) {
    if (call_fails()) return nullptr;
    gpu::only().enter(*self);
    return autoreleased(new commands(*self));
}

// Command buffers

/// One encoder, which one thread uses.
class encoder final : public object {
public:
    static const type blit;
    static const type compute;

    encoder(const type& of, commands& in) : object(of), in_(&in), thread_(std::this_thread::get_id()) {
        in.encoder = this;
    }
    ~encoder() override {
        if (open_) stop("an encoder goes before its encoding has ended");
    }

    /// Returns the command buffer, where the encoder may be used now.
    commands& in() {
        if (!open_) stop("a %s is used whose encoding has ended", of().name);
        if (thread_ != std::this_thread::get_id()) stop("a %s is used on two threads", of().name);
        return *in_.get();
    }

    void end() {
        in().encoder = nullptr;
        open_ = false;
    }

    reference<kernel_function> pipeline;
    struct argument {
        reference<buffer> of;
        std::size_t offset = 0;
        std::vector<std::byte> bytes;
    };
    std::vector<argument> arguments;

private:
    reference<commands> in_;
    std::thread::id thread_;
    bool open_ = true;
};

object* new_encoder(const type& of, commands* self) {
    self->check_open();
    if (self->encoder) stop("a second encoder of a command buffer is made before the first has ended");
    if (call_fails()) return nullptr;
    return autoreleased(new encoder(of, *self));
}
object* blit_command_encoder(commands* self, selector*) { return new_encoder(encoder::blit, self); }
object* compute_command_encoder(commands* self, selector*) { return new_encoder(encoder::compute, self); }

void check_between(const commands& of) {
    of.check_open();
    if (of.encoder) stop("an event is encoded while an encoder is open");
}

void encode_signal(commands* self, selector*, shared_event* event, std::uint64_t value) {
    check_between(*self);
    self->add([to = reference<shared_event>(event), value] {
        to->value = std::max(to->value, value);
        return true;
    });
}

void encode_wait(commands* self, selector*, shared_event* event, std::uint64_t value) {
    check_between(*self);
    self->add([of = reference<shared_event>(event), value] { return of->value >= value; });
}

void commit(commands* self, selector*) {
    if (const long code = work_fails()) self->fail(code);
    gpu::only().commit(*self);
}

void wait_until_completed(commands* self, selector*) { gpu::only().wait(*self); }

ns_uinteger status_of(commands* self, selector*) {
    const std::lock_guard lock(gpu::only().mutex);
    return self->state;
}

object* error_of(commands* self, selector*) {
    const std::lock_guard lock(gpu::only().mutex);
    return self->error.get();
}

// Encoders

void end_encoding(encoder* self, selector*) { self->end(); }

constexpr ns_uinteger word = 4;

void check_part(const char* what, buffer* of, ns_uinteger offset, ns_uinteger bytes) {
    check_alive(of);
    if (offset % word != 0 || bytes % word != 0) {
        stop("%s: offset %lu and size %lu: macOS wants multiples of 4", what, offset, bytes);
    }
    if (bytes == 0 || offset > of->size() || bytes > of->size() - offset) {
        stop("%s: %lu bytes at %lu of a buffer of %zu", what, bytes, offset, of->size());
    }
}

void copy_from_buffer(encoder* self, selector*, buffer* from, ns_uinteger from_offset, buffer* to,
                      ns_uinteger to_offset, ns_uinteger bytes) {
    commands& in = self->in();
    check_part("copyFromBuffer, source", from, from_offset, bytes);
    check_part("copyFromBuffer, destination", to, to_offset, bytes);
    if (from == to && from_offset < to_offset + bytes && to_offset < from_offset + bytes) {
        stop("copyFromBuffer: the ranges overlap");
    }
    in.use(from);
    in.use(to);
    in.add([&in, from, from_offset, to, to_offset, bytes] {
        std::memcpy(to->at_gpu() + to_offset, from->at_gpu() + from_offset, bytes);
        in.has_written(*to, to_offset, bytes);
        return true;
    });
}

void fill_buffer(encoder* self, selector*, buffer* to, range where, std::uint8_t value) {
    commands& in = self->in();
    check_part("fillBuffer", to, where.location, where.length);
    in.use(to);
    in.add([&in, to, where, value] {
        std::memset(to->at_gpu() + where.location, value, where.length);
        in.has_written(*to, where.location, where.length);
        return true;
    });
}

void set_compute_pipeline_state(encoder* self, selector*, kernel_function* pipeline) {
    self->in();
    self->pipeline = reference<kernel_function>(pipeline);
}

encoder::argument& argument_at(encoder* of, ns_uinteger index) {
    if (index > 30) stop("a kernel's argument %lu is set; there are 31", index);
    if (of->arguments.size() <= index) of->arguments.resize(index + 1);
    return of->arguments[index];
}

void set_buffer(encoder* self, selector*, buffer* of, ns_uinteger offset, ns_uinteger index) {
    check_alive(of);
    if (offset >= of->size()) stop("setBuffer: offset %lu in a buffer of %zu", offset, of->size());
    self->in().use(of);
    argument_at(self, index) = {reference<buffer>(of), offset, {}};
}

void set_bytes(encoder* self, selector*, const std::byte* bytes, ns_uinteger count, ns_uinteger index) {
    if (count == 0 || count > 4096) stop("setBytes: %lu bytes; up to 4096 are taken", count);
    self->in();
    argument_at(self, index) = {{}, 0, std::vector<std::byte>(bytes, bytes + count)};
}

void dispatch_threadgroups(encoder* self, selector*, grid_size groups, grid_size threads) {
    commands& in = self->in();
    if (!self->pipeline) stop("a dispatch without a pipeline");
    const std::size_t count = threads.width * threads.height * threads.depth;
    if (count == 0 || count > 1024) stop("a dispatch of groups of %zu threads; up to 1024 are taken", count);
    in.add([&in, pipeline = self->pipeline, arguments = self->arguments, groups, threads] {
        std::vector<void*> addresses;
        std::vector<std::vector<std::byte>> before;  // of each buffer that is written
        for (const encoder::argument& each : arguments) {
            addresses.push_back(each.of ? static_cast<void*>(each.of->at_gpu() + each.offset)
                                        : const_cast<std::byte*>(each.bytes.data()));
            before.emplace_back();
            if (pipeline->writes(addresses.size() - 1))
                before.back().assign(each.of->at_gpu(), each.of->at_gpu() + each.of->size());
        }
        pipeline->run(addresses,
                      {groups.width * threads.width, groups.height * threads.height, groups.depth * threads.depth});
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            if (before[i].empty()) continue;
            buffer& of = *arguments[i].of.get();
            for_each_difference(before[i].data(), of.at_gpu(), before[i].size(),
                                [&](std::size_t begin, std::size_t end) { in.has_written(of, begin, end - begin); });
        }
        return true;
    });
}

}  // namespace

const type buffer::about{"MTLBuffer", {{"contents", method_of(contents)}, {"length", method_of(length)}}};
const type shared_event::about{
    "MTLSharedEvent",
    {{"signaledValue", method_of(signaled_value)}, {"setSignaledValue:", method_of(set_signaled_value)}}};
const type queue::about{"MTLCommandQueue",
                        {{"device", method_of(device_of_queue)}, {"commandBuffer", method_of(command_buffer)}}};
const type commands::about{"MTLCommandBuffer",
                           {{"blitCommandEncoder", method_of(blit_command_encoder)},
                            {"computeCommandEncoder", method_of(compute_command_encoder)},
                            {"encodeSignalEvent:value:", method_of(encode_signal)},
                            {"encodeWaitForEvent:value:", method_of(encode_wait)},
                            {"commit", method_of(commit)},
                            {"waitUntilCompleted", method_of(wait_until_completed)},
                            {"status", method_of(status_of)},
                            {"error", method_of(error_of)}}};
const type encoder::blit{"MTLBlitCommandEncoder",
                         {{"endEncoding", method_of(end_encoding)},
                          {"copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", method_of(copy_from_buffer)},
                          {"fillBuffer:range:value:", method_of(fill_buffer)}}};
const type encoder::compute{"MTLComputeCommandEncoder",
                            {{"endEncoding", method_of(end_encoding)},
                             {"setComputePipelineState:", method_of(set_compute_pipeline_state)},
                             {"setBuffer:offset:atIndex:", method_of(set_buffer)},
                             {"setBytes:length:atIndex:", method_of(set_bytes)},
                             {"dispatchThreadgroups:threadsPerThreadgroup:", method_of(dispatch_threadgroups)}}};

}  // namespace metal_double
