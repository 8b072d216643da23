// suite/device.hpp: what the programs that move their data by hand use: the Khronos C++ bindings of OpenCL, as programs
// have them, on a queue that counts bytes.
#pragma once

#include <CL/opencl.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

#include "unibuf/opencl.hpp"

namespace suite {

/// A command queue that counts the bytes which go to and from the device.
class counting_queue : public cl::CommandQueue {
public:
    using cl::CommandQueue::CommandQueue;

    void enqueueWriteBuffer(const cl::Buffer& to, cl_bool blocking, std::size_t offset, std::size_t bytes,
                            const void* from) {
        moved_ += bytes;
        cl::CommandQueue::enqueueWriteBuffer(to, blocking, offset, bytes, from);
    }
    void enqueueReadBuffer(const cl::Buffer& from, cl_bool blocking, std::size_t offset, std::size_t bytes, void* to) {
        moved_ += bytes;
        cl::CommandQueue::enqueueReadBuffer(from, blocking, offset, bytes, to);
    }

    std::uint64_t moved() const noexcept { return moved_; }

private:
    std::uint64_t moved_ = 0;
};

inline cl::NDRange as_range(const unibuf::opencl::nd_range::extent& of) {
    if (of.dimensions == 1) return cl::NDRange(of.in[0]);
    return of.dimensions == 2 ? cl::NDRange(of.in[0], of.in[1]) : cl::NDRange(of.in[0], of.in[1], of.in[2]);
}

/// Sets the arguments of a kernel, buffers and numbers, and queues it.
template <class... Arguments>
void run(const cl::CommandQueue& on, cl::Kernel& kernel, const unibuf::opencl::nd_range& items,
         const Arguments&... arguments) {
    cl_uint index = 0;
    (kernel.setArg(index++, arguments), ...);
    on.enqueueNDRangeKernel(kernel, cl::NullRange, as_range(items.items()));
}

}  // namespace suite
