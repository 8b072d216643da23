// conv2d/metal.cpp: the convolution on a Metal device.
#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "job.hpp"
#include "metal_api.hpp"
#include "metal_kernel.hpp"
#include "unibuf/metal.hpp"

namespace conv2d::metal {
namespace {

using mtl::method;
using mtl::object;

/// A kernel that is built for one filter and one size.
class program {
public:
    explicit program(const order& of)
        : on_(unibuf::metal::handles_of(of.where)),
          size_(of.size),
          pipeline_(mtl::new_pipeline(on_.device,
                                      fmt::format("#define RADIUS {}\n#define WEIGHTS {}\n{}", of.by.radius,
                                                  literals(of.by), metal_kernel),
                                      "convolve"),
                    "pipeline") {}

    object device() const noexcept { return on_.device; }
    object queue() const noexcept { return on_.queue; }

    /// Commits a convolution from one MTLBuffer to another. Returns the command buffer, which the innermost pool holds.
    object commit(object from, std::size_t from_offset, object to, std::size_t to_offset) const {
        const object commands = method<object()>::send(queue(), "commandBuffer");
        const object encoder = method<object()>::send(commands, "computeCommandEncoder");
        if (!encoder) throw std::runtime_error("Metal makes no command buffer");
        method<void(object)>::send(encoder, "setComputePipelineState:", pipeline_.native());
        using set_buffer = method<void(object, unsigned long, unsigned long)>;
        set_buffer::send(encoder, "setBuffer:offset:atIndex:", from, from_offset, 0);
        set_buffer::send(encoder, "setBuffer:offset:atIndex:", to, to_offset, 1);
        using set_bytes = method<void(const void*, unsigned long, unsigned long)>;
        set_bytes::send(encoder, "setBytes:length:atIndex:", &size_.width, sizeof size_.width, 2);
        set_bytes::send(encoder, "setBytes:length:atIndex:", &size_.height, sizeof size_.height, 3);
        constexpr unsigned long side = 16;
        const auto groups = [](int pixels) { return (static_cast<unsigned long>(pixels) + side - 1) / side; };
        method<void(mtl::size, mtl::size)>::send(encoder, "dispatchThreadgroups:threadsPerThreadgroup:",
                                                 {groups(size_.width), groups(size_.height), 1}, {side, side, 1});
        method<void()>::send(encoder, "endEncoding");
        method<void()>::send(commands, "commit");
        return commands;
    }

private:
    unibuf::metal::handles on_;
    extent size_;
    mtl::made pipeline_;
};

/// An MTLBuffer that host and device share.
class shared_buffer {
public:
    shared_buffer(tally& count, object device, std::size_t bytes)
        : held_(count, bytes), native_(made_by(device, bytes), "buffer") {}

    object native() const noexcept { return native_.native(); }
    void* contents() const { return method<void*()>::send(native(), "contents"); }

private:
    static object made_by(object device, std::size_t bytes) {
        const mtl::pool drained;
        return method<object(unsigned long, unsigned long)>::send(device, "newBufferWithLength:options:", bytes, 0);
    }

    held_bytes held_;
    mtl::made native_;
};

/// Copies into what is shared, convolves, copies out.
void there_and_back(tally& counts, const program& kernel, std::span<const float> input, const shared_buffer& from,
                    const shared_buffer& to, std::span<float> output) {
    const mtl::pool drained;
    std::memcpy(from.contents(), input.data(), input.size_bytes());
    const object done = kernel.commit(from.native(), 0, to.native(), 0);
    method<void()>::send(done, "waitUntilCompleted");
    constexpr unsigned long completed = 4;  // MTLCommandBufferStatusCompleted
    if (method<unsigned long()>::send(done, "status") != completed) throw std::runtime_error("the kernel has failed");
    std::memcpy(output.data(), to.contents(), output.size_bytes());
    counts.copied += input.size_bytes() + output.size_bytes();
    ++counts.waits;
}

class copying final : public job_on_arrays {
public:
    explicit copying(const order& of) : job_on_arrays(of.counts, of.size), kernel_(of), size_(of.size) {}

    void convolve() override {
        const pixel_array temporary_input(counts(), size_.pixels());
        const pixel_array temporary_output(counts(), size_.pixels());
        copy(counts(), input(), temporary_input.span());
        const shared_buffer from(counts(), kernel_.device(), bytes());
        const shared_buffer to(counts(), kernel_.device(), bytes());
        there_and_back(counts(), kernel_, temporary_input.span(), from, to, temporary_output.span());
        copy(counts(), temporary_output.span(), output());
    }

private:
    program kernel_;
    extent size_;
};

class careful final : public job_on_arrays {
public:
    explicit careful(const order& of)
        : job_on_arrays(of.counts, of.size),
          kernel_(of),
          from_(of.counts, kernel_.device(), bytes()),
          to_(of.counts, kernel_.device(), bytes()) {}

    void convolve() override { there_and_back(counts(), kernel_, input(), from_, to_, output()); }

private:
    program kernel_;
    shared_buffer from_;
    shared_buffer to_;
};

class zero_copy final : public job_on_buffers {
public:
    explicit zero_copy(const order& of) : job_on_buffers(of.where, of.size), kernel_(of) {}

    void convolve() override {
        const mtl::pool drained;
        const unibuf::access_options on_queue{.on = unibuf::metal::queue_of(kernel_.queue())};
        const auto from = input().read(where(), on_queue);
        const auto to = output().write(where(), on_queue);
        kernel_.commit(unibuf::metal::memory(from), from.native().offset, unibuf::metal::memory(to),
                       to.native().offset);
    }

private:
    program kernel_;
};

}  // namespace

std::unique_ptr<job> make_job(const order& of) { return make_job_of<copying, careful, zero_copy>(of); }

}  // namespace conv2d::metal
