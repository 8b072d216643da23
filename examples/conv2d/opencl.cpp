// conv2d/opencl.cpp: the convolution on an OpenCL device.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "common/opencl_api.hpp"
#include "job.hpp"
#include "opencl_kernel.hpp"

namespace conv2d::opencl {
namespace {

namespace cl = examples::cl;
using cl::api;
using cl::check;

/// A kernel that is built for one filter and one size.
class program {
public:
    explicit program(const order& of)
        : on_(unibuf::opencl::handles_of(of.where)), size_(of.size), kernel_(on_, source(of.by).c_str(), "convolve") {}

    const unibuf::opencl::handles& on() const noexcept { return on_; }

    void enqueue(cl::memory from, cl::memory to) const {
        kernel_.set(0, from);
        kernel_.set(1, to);
        kernel_.set(2, size_.width);
        kernel_.set(3, size_.height);
        kernel_.enqueue(across(), static_cast<std::size_t>(size_.height));
    }

    void enqueue(unibuf::space where, const unibuf::unified_buffer<float>& from,
                 unibuf::unified_buffer<float>& to) const {
        unibuf::opencl::enqueue(where, kernel_.native(), {across(), size_.height}, read(from), write(to), size_.width,
                                size_.height);
    }

private:
    std::size_t across() const { return static_cast<std::size_t>((size_.width + opencl_pixels - 1) / opencl_pixels); }

    static std::string source(const filter& by) {
        return fmt::format("#define RADIUS {}\n#define WEIGHTS {}\n{}", by.radius, literals(by), opencl_kernel);
    }

    unibuf::opencl::handles on_;
    extent size_;
    cl::kernel_program kernel_;
};

class device_buffer {
public:
    device_buffer(tally& in, cl::context context, std::uint64_t flags, std::size_t bytes) : held_(in, bytes) {
        cl::status answer = 0;
        native_ = api().clCreateBuffer(context, flags, bytes, nullptr, &answer);
        check(answer, "clCreateBuffer");
    }
    ~device_buffer() { api().clReleaseMemObject(native_); }
    device_buffer(const device_buffer&) = delete;
    device_buffer& operator=(const device_buffer&) = delete;

    cl::memory native() const noexcept { return native_; }

private:
    held_bytes held_;
    cl::memory native_ = nullptr;
};

/// Copies up, convolves, copies down. The queue is in order, so the host stops once, for the result.
void there_and_back(tally& counts, const program& kernel, std::span<const float> input, cl::memory from, cl::memory to,
                    std::span<float> output) {
    constexpr std::uint32_t at_once = 0;
    constexpr std::uint32_t when_done = 1;
    const cl::queue queue = kernel.on().queue;
    check(api().clEnqueueWriteBuffer(queue, from, at_once, 0, input.size_bytes(), input.data(), 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
    kernel.enqueue(from, to);
    check(api().clEnqueueReadBuffer(queue, to, when_done, 0, output.size_bytes(), output.data(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
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
        const device_buffer from(counts(), kernel_.on().context, cl::read_only, bytes());
        const device_buffer to(counts(), kernel_.on().context, cl::write_only, bytes());
        there_and_back(counts(), kernel_, temporary_input.span(), from.native(), to.native(), temporary_output.span());
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
          from_(of.counts, kernel_.on().context, cl::read_only, bytes()),
          to_(of.counts, kernel_.on().context, cl::write_only, bytes()) {}

    void convolve() override { there_and_back(counts(), kernel_, input(), from_.native(), to_.native(), output()); }

private:
    program kernel_;
    device_buffer from_;
    device_buffer to_;
};

class zero_copy final : public job_on_buffers {
public:
    explicit zero_copy(const order& of) : job_on_buffers(of.where, of.size), kernel_(of) {}

    void convolve() override { kernel_.enqueue(where(), input(), output()); }

private:
    program kernel_;
};

}  // namespace

std::unique_ptr<job> make_job(const order& of) { return make_job_of<copying, careful, zero_copy>(of); }

}  // namespace conv2d::opencl
