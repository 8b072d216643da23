// conv2d/cuda.cpp: the convolution on a CUDA device.
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda_api.hpp"
#include "cuda_kernel.hpp"
#include "job.hpp"

namespace conv2d::cuda {
namespace {

using cu::check;
using cu::check_compiler;
using cu::driver;

/// Makes the context current for as long as the driver is called, and no longer: the thread's own stays as it was, as
/// unibuf leaves it too.
class current {
public:
    explicit current(cu::context context) : current(context, std::nothrow) { check(pushed_, "cuCtxPushCurrent"); }
    current(cu::context context, std::nothrow_t) noexcept : pushed_(driver().cuCtxPushCurrent_v2(context)) {}
    ~current() {
        if (pushed_ != 0) return;
        cu::context popped = nullptr;
        driver().cuCtxPopCurrent_v2(&popped);
    }
    current(const current&) = delete;
    current& operator=(const current&) = delete;

private:
    cu::status pushed_;
};

/// Compiles the kernel's source.
class compilation {
public:
    explicit compilation(const std::string& source) {
        check_compiler(cu::compiler().nvrtcCreateProgram(&program_, source.c_str(), "convolve.cu", 0, nullptr, nullptr),
                       "nvrtcCreateProgram");
    }
    ~compilation() { cu::compiler().nvrtcDestroyProgram(&program_); }
    compilation(const compilation&) = delete;
    compilation& operator=(const compilation&) = delete;

    /// Returns code for the card itself, which its driver takes whatever its version is; or, where the compiler is
    /// older than the card, PTX of the newest architecture that it knows, which the driver translates.
    std::string image(int device) {
        int major = 0;
        int minor = 0;
        check(driver().cuDeviceGetAttribute(&major, cu::compute_capability_major, device), "cuDeviceGetAttribute");
        check(driver().cuDeviceGetAttribute(&minor, cu::compute_capability_minor, device), "cuDeviceGetAttribute");
        cu::status answer = compile_for(fmt::format("sm_{}{}", major, minor));
        const bool unknown = answer == cu::nvrtc_invalid_option;
        if (unknown) answer = compile_for(fmt::format("compute_{}", newest_architecture()));
        if (answer != 0) {
            throw std::runtime_error(
                fmt::format("the CUDA kernel does not compile: {}: {}", cu::compiler().nvrtcGetErrorString(answer),
                            get(cu::compiler().nvrtcGetProgramLogSize, cu::compiler().nvrtcGetProgramLog).c_str()));
        }
        return unknown ? get(cu::compiler().nvrtcGetPTXSize, cu::compiler().nvrtcGetPTX)
                       : get(cu::compiler().nvrtcGetCUBINSize, cu::compiler().nvrtcGetCUBIN);
    }

private:
    cu::status compile_for(const std::string& architecture) {
        const std::string option = "--gpu-architecture=" + architecture;
        const char* const options[] = {option.c_str()};
        return cu::compiler().nvrtcCompileProgram(program_, 1, options);
    }

    static int newest_architecture() {
        int count = 0;
        check_compiler(cu::compiler().nvrtcGetNumSupportedArchs(&count), "asking NVRTC for its architectures");
        std::vector<int> all(static_cast<std::size_t>(count));
        check_compiler(cu::compiler().nvrtcGetSupportedArchs(all.data()), "asking NVRTC for its architectures");
        return *std::ranges::max_element(all);
    }

    std::string get(cu::status (*size_of)(cu::program, std::size_t*), cu::status (*copy)(cu::program, char*)) const {
        std::size_t bytes = 0;
        check_compiler(size_of(program_, &bytes), "asking NVRTC for a size");
        std::string result(bytes, '\0');
        check_compiler(copy(program_, result.data()), "asking NVRTC for a text");
        return result;
    }

    cu::program program_ = nullptr;
};

class stream {
public:
    explicit stream(cu::context in) : in_(in) {
        const current context(in_);
        check(driver().cuStreamCreate(&native_, cu::stream_non_blocking), "cuStreamCreate");
    }
    ~stream() {
        const current context(in_, std::nothrow);
        driver().cuStreamDestroy_v2(native_);
    }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    cu::stream native() const noexcept { return native_; }
    void wait() const { check(driver().cuStreamSynchronize(native_), "cuStreamSynchronize"); }

private:
    cu::context in_;
    cu::stream native_ = nullptr;
};

std::string image_for(const order& of, int device) {
    return compilation(fmt::format("#define RADIUS {}\n#define WEIGHTS {}\n#define ROWS {}\n{}", of.by.radius,
                                   literals(of.by), cuda_rows, cuda_kernel))
        .image(device);
}

/// A kernel that is built for one filter and one size, and the stream that it runs on.
class program {
public:
    explicit program(const order& of) : on_(unibuf::cuda::handles_of(of.where)), size_(of.size), stream_(on_.context) {
        const std::string image = image_for(of, on_.ordinal);
        const current context(on_.context);
        check(driver().cuModuleLoadData(&module_, image.c_str()), "cuModuleLoadData");
        check(driver().cuModuleGetFunction(&kernel_, module_, "convolve"), "cuModuleGetFunction");
    }
    ~program() {
        const current context(on_.context, std::nothrow);
        driver().cuStreamSynchronize(stream_.native());
        driver().cuModuleUnload(module_);
    }
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    cu::context context() const noexcept { return on_.context; }
    const stream& on() const noexcept { return stream_; }

    void enqueue(cu::device_pointer from, cu::device_pointer to) const {
        extent size = size_;
        void* arguments[] = {&from, &to, &size.width, &size.height};
        const auto blocks = [](int pixels, unsigned in_a_block) {
            return (static_cast<unsigned>(pixels) + in_a_block - 1) / in_a_block;
        };
        check(driver().cuLaunchKernel(kernel_, blocks(size.width, cuda_block_width),
                                      blocks(size.height, cuda_block_height * cuda_rows), 1, cuda_block_width,
                                      cuda_block_height, 1, 0, stream_.native(), arguments, nullptr),
              "cuLaunchKernel");
    }

private:
    unibuf::cuda::handles on_;
    extent size_;
    stream stream_;
    cu::module module_ = nullptr;
    cu::function kernel_ = nullptr;
};

class device_buffer {
public:
    device_buffer(tally& count, cu::context in, std::size_t bytes) : held_(count, bytes), in_(in) {
        const current context(in_);
        check(driver().cuMemAlloc_v2(&address_, bytes), "cuMemAlloc");
    }
    ~device_buffer() {
        const current context(in_, std::nothrow);
        driver().cuMemFree_v2(address_);
    }
    device_buffer(const device_buffer&) = delete;
    device_buffer& operator=(const device_buffer&) = delete;

    cu::device_pointer address() const noexcept { return address_; }

private:
    held_bytes held_;
    cu::context in_;
    cu::device_pointer address_ = 0;
};

/// Copies up, convolves, copies down. The stream is in order, so the host stops once, for the result.
void there_and_back(tally& counts, const program& kernel, std::span<const float> input, const device_buffer& from,
                    const device_buffer& to, std::span<float> output) {
    const cu::stream on = kernel.on().native();
    check(driver().cuMemcpyHtoDAsync_v2(from.address(), input.data(), input.size_bytes(), on), "cuMemcpyHtoDAsync");
    kernel.enqueue(from.address(), to.address());
    check(driver().cuMemcpyDtoHAsync_v2(output.data(), to.address(), output.size_bytes(), on), "cuMemcpyDtoHAsync");
    kernel.on().wait();
    counts.copied += input.size_bytes() + output.size_bytes();
    ++counts.waits;
}

class copying final : public job_on_arrays {
public:
    explicit copying(const order& of) : job_on_arrays(of.counts, of.size), kernel_(of), size_(of.size) {}

    void convolve() override {
        const current context(kernel_.context());
        const pixel_array temporary_input(counts(), size_.pixels());
        const pixel_array temporary_output(counts(), size_.pixels());
        copy(counts(), input(), temporary_input.span());
        const device_buffer from(counts(), kernel_.context(), bytes());
        const device_buffer to(counts(), kernel_.context(), bytes());
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
          from_(of.counts, kernel_.context(), bytes()),
          to_(of.counts, kernel_.context(), bytes()) {}

    void convolve() override {
        const current context(kernel_.context());
        there_and_back(counts(), kernel_, input(), from_, to_, output());
    }

private:
    program kernel_;
    device_buffer from_;
    device_buffer to_;
};

class zero_copy final : public job_on_buffers {
public:
    explicit zero_copy(const order& of) : job_on_buffers(of.where, of.size), kernel_(of) {}

    void convolve() override {
        const current context(kernel_.context());
        const unibuf::access_options on_stream{.on = unibuf::cuda::queue_of(kernel_.on().native())};
        const auto from = input().read(where(), on_stream);
        const auto to = output().write(where(), on_stream);
        kernel_.enqueue(address(from), address(to));
    }

private:
    static cu::device_pointer address(const auto& of) {
        return reinterpret_cast<cu::device_pointer>(unibuf::cuda::pointer(of));
    }

    program kernel_;
};

}  // namespace

std::unique_ptr<job> make_job(const order& of) { return make_job_of<copying, careful, zero_copy>(of); }

}  // namespace conv2d::cuda
