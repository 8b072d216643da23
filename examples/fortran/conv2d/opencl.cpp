// fortran/conv2d/opencl.cpp: a kernel, and buffers as programs of today use them, for opencl.f90.
#include "unibuf/opencl.hpp"

#include <cstddef>
#include <cstdint>

#include "common/opencl_api.hpp"
#include "ending.hpp"

namespace {

namespace cl = examples::cl;
using cl::api;
using cl::check;
using examples::or_end;

const unibuf::opencl::handles& on() {
    static const unibuf::opencl::handles found = unibuf::opencl::handles_of(unibuf::space("opencl:0"));
    return found;
}

}  // namespace

extern "C" {

cl::kernel_program* example_cl_create_kernel(const char* source, const char* name) {
    return or_end([&] { return new cl::kernel_program(on(), source, name); });
}

void example_cl_delete_kernel(const cl::kernel_program* kernel) { delete kernel; }

void example_cl_set_memory(const cl::kernel_program* kernel, int index, cl::memory argument) {
    or_end([&] { kernel->set(static_cast<std::uint32_t>(index), argument); });
}

void example_cl_enqueue(const cl::kernel_program* kernel, int across, int down) {
    or_end([&] { kernel->enqueue(static_cast<std::size_t>(across), static_cast<std::size_t>(down)); });
}

cl::memory example_cl_create_buffer(std::int64_t bytes) {
    return or_end([&] {
        cl::status answer = 0;
        const cl::memory made =
            api().clCreateBuffer(on().context, 0, static_cast<std::size_t>(bytes), nullptr, &answer);
        check(answer, "clCreateBuffer");
        return made;
    });
}

void example_cl_delete_buffer(cl::memory buffer) {
    or_end([&] { check(api().clReleaseMemObject(buffer), "clReleaseMemObject"); });
}

/// Queues a write: `data` must stay until the next example_cl_read.
void example_cl_write(cl::memory buffer, std::int64_t bytes, const void* data) {
    or_end([&] {
        constexpr std::uint32_t at_once = 0;
        check(api().clEnqueueWriteBuffer(on().queue, buffer, at_once, 0, static_cast<std::size_t>(bytes), data, 0,
                                         nullptr, nullptr),
              "clEnqueueWriteBuffer");
    });
}

/// Reads a buffer, and waits for all that was queued before.
void example_cl_read(cl::memory buffer, std::int64_t bytes, void* data) {
    or_end([&] {
        constexpr std::uint32_t when_done = 1;
        check(api().clEnqueueReadBuffer(on().queue, buffer, when_done, 0, static_cast<std::size_t>(bytes), data, 0,
                                        nullptr, nullptr),
              "clEnqueueReadBuffer");
    });
}

}  // extern "C"
