// common/opencl_api.hpp: the part of OpenCL that the examples call, found at run time, as unibuf finds it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unibuf/opencl.hpp"

struct _cl_program;
struct _cl_kernel;
struct _cl_event;

namespace examples::cl {

// These are declared as in <CL/cl.h>.
using context = _cl_context*;
using device = _cl_device_id*;
using queue = _cl_command_queue*;
using memory = _cl_mem*;
using program = _cl_program*;
using kernel = _cl_kernel*;
using event = _cl_event*;
using status = std::int32_t;

inline constexpr std::uint64_t write_only = 1U << 1U;  // CL_MEM_WRITE_ONLY: the device only writes it
inline constexpr std::uint64_t read_only = 1U << 2U;   // CL_MEM_READ_ONLY: the device only reads it
inline constexpr std::uint32_t build_log = 0x1183;     // CL_PROGRAM_BUILD_LOG

struct functions {
    program (*clCreateProgramWithSource)(context, std::uint32_t, const char**, const std::size_t*, status*);
    status (*clBuildProgram)(program, std::uint32_t, const device*, const char*, void (*)(program, void*), void*);
    status (*clGetProgramBuildInfo)(program, device, std::uint32_t, std::size_t, void*, std::size_t*);
    status (*clReleaseProgram)(program);
    kernel (*clCreateKernel)(program, const char*, status*);
    status (*clReleaseKernel)(kernel);
    status (*clSetKernelArg)(kernel, std::uint32_t, std::size_t, const void*);
    status (*clEnqueueNDRangeKernel)(queue, kernel, std::uint32_t, const std::size_t*, const std::size_t*,
                                     const std::size_t*, std::uint32_t, const event*, event*);
    memory (*clCreateBuffer)(context, std::uint64_t, std::size_t, void*, status*);
    status (*clReleaseMemObject)(memory);
    status (*clEnqueueWriteBuffer)(queue, memory, std::uint32_t, std::size_t, std::size_t, const void*, std::uint32_t,
                                   const event*, event*);
    status (*clEnqueueReadBuffer)(queue, memory, std::uint32_t, std::size_t, std::size_t, void*, std::uint32_t,
                                  const event*, event*);
};

/// Returns the functions. Throws std::runtime_error where one is missing.
const functions& api();

/// Throws std::runtime_error where `answer` is not success; `what` is what was asked.
void check(status answer, const char* what);

/// A kernel of that name, built from source. Throws std::runtime_error, with the compiler's words.
class kernel_program {
public:
    kernel_program(const unibuf::opencl::handles& on, const char* source, const char* name);
    ~kernel_program();
    kernel_program(const kernel_program&) = delete;
    kernel_program& operator=(const kernel_program&) = delete;

    kernel native() const noexcept { return kernel_; }

    template <class Value>
    void set(std::uint32_t index, const Value& value) const {
        check(api().clSetKernelArg(kernel_, index, sizeof value, &value), "clSetKernelArg");
    }

    /// Queues the kernel for `across * down` work-items.
    void enqueue(std::size_t across, std::size_t down) const;

private:
    void build() const;

    unibuf::opencl::handles on_;
    program program_ = nullptr;
    kernel kernel_ = nullptr;
};

}  // namespace examples::cl
