// backends/opencl/api.hpp: the part of OpenCL 1.2 that this backend calls, found at run time.
//
// Types and values are those of <CL/cl.h> (Khronos OpenCL 3.0 headers); the names of constants are in lower case, so
// that both can be included. Functions keep their OpenCL names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "unibuf/error.hpp"

struct _cl_platform_id;
struct _cl_device_id;
struct _cl_context;
struct _cl_command_queue;
struct _cl_mem;
struct _cl_kernel;
struct _cl_event;

namespace unibuf::backends::cl {

using cl_int = std::int32_t;
using cl_uint = std::uint32_t;
using cl_ulong = std::uint64_t;
using cl_bool = cl_uint;
using cl_bitfield = cl_ulong;
using cl_platform_id = _cl_platform_id*;
using cl_device_id = _cl_device_id*;
using cl_context = _cl_context*;
using cl_command_queue = _cl_command_queue*;
using cl_mem = _cl_mem*;
using cl_kernel = _cl_kernel*;
using cl_event = _cl_event*;

inline constexpr cl_bool no = 0;
inline constexpr cl_bool yes = 1;

// These are statuses.
inline constexpr cl_int success = 0;
inline constexpr cl_int device_not_found = -1;
inline constexpr cl_int device_not_available = -2;
inline constexpr cl_int mem_object_allocation_failure = -4;
inline constexpr cl_int out_of_resources = -5;
inline constexpr cl_int out_of_host_memory = -6;
inline constexpr cl_int invalid_kernel = -48;
inline constexpr cl_int invalid_buffer_size = -61;
inline constexpr cl_int platform_not_found = -1001;     // CL_PLATFORM_NOT_FOUND_KHR, of cl_khr_icd
inline constexpr cl_int nvidia_illegal_access = -9999;  // undocumented: a kernel touched memory that is not its own

// This is a cl_command_execution_status.
inline constexpr cl_int complete = 0;

// These can be asked for.
inline constexpr cl_uint platform_name = 0x0902;
inline constexpr cl_bitfield device_type_cpu = 1u << 1;
inline constexpr cl_bitfield device_type_all = 0xFFFFFFFF;
inline constexpr cl_uint device_type = 0x1000;
inline constexpr cl_uint device_max_compute_units = 0x1002;
inline constexpr cl_uint device_max_mem_alloc_size = 0x1010;
inline constexpr cl_uint device_global_mem_size = 0x101F;
inline constexpr cl_uint device_mem_base_addr_align = 0x1019;  // in bits
inline constexpr cl_uint device_available = 0x1027;
inline constexpr cl_uint device_execution_capabilities = 0x1029;
inline constexpr cl_uint device_name = 0x102B;
inline constexpr cl_uint driver_version = 0x102D;
inline constexpr cl_uint device_version = 0x102F;
inline constexpr cl_uint device_platform = 0x1031;
inline constexpr cl_uint device_host_unified_memory = 0x1035;
inline constexpr cl_uint context_reference_count = 0x1080;
inline constexpr cl_uint queue_context = 0x1090;
inline constexpr cl_uint queue_device = 0x1091;
inline constexpr cl_uint queue_reference_count = 0x1092;
inline constexpr cl_uint queue_properties = 0x1093;
inline constexpr cl_uint kernel_function_name = 0x1190;
inline constexpr cl_uint kernel_num_args = 0x1191;
inline constexpr cl_uint kernel_context = 0x1193;
inline constexpr cl_uint event_context = 0x11D4;
inline constexpr cl_uint event_command_execution_status = 0x11D3;

// These are flags.
inline constexpr cl_bitfield queue_out_of_order = 1u << 0;
inline constexpr cl_bitfield queue_on_device = 1u << 2;
inline constexpr cl_bitfield exec_native_kernel = 1u << 1;
inline constexpr cl_bitfield mem_read_write = 1u << 0;
inline constexpr cl_bitfield mem_use_host_ptr = 1u << 3;

inline constexpr cl_uint buffer_create_type_region = 0x1220;

/// This is a cl_buffer_region.
struct buffer_region {
    std::size_t origin;
    std::size_t bytes;
};

struct functions {
    cl_int (*clGetPlatformIDs)(cl_uint, cl_platform_id*, cl_uint*);
    cl_int (*clGetPlatformInfo)(cl_platform_id, cl_uint, std::size_t, void*, std::size_t*);
    cl_int (*clGetDeviceIDs)(cl_platform_id, cl_bitfield, cl_uint, cl_device_id*, cl_uint*);
    cl_int (*clGetDeviceInfo)(cl_device_id, cl_uint, std::size_t, void*, std::size_t*);
    cl_int (*clRetainDevice)(cl_device_id);
    cl_context (*clCreateContext)(const std::intptr_t*, cl_uint, const cl_device_id*,
                                  void (*)(const char*, const void*, std::size_t, void*), void*, cl_int*);
    cl_int (*clRetainContext)(cl_context);
    cl_int (*clReleaseContext)(cl_context);
    cl_int (*clGetContextInfo)(cl_context, cl_uint, std::size_t, void*, std::size_t*);
    cl_command_queue (*clCreateCommandQueue)(cl_context, cl_device_id, cl_bitfield, cl_int*);
    cl_int (*clRetainCommandQueue)(cl_command_queue);
    cl_int (*clReleaseCommandQueue)(cl_command_queue);
    cl_int (*clGetCommandQueueInfo)(cl_command_queue, cl_uint, std::size_t, void*, std::size_t*);
    cl_int (*clFlush)(cl_command_queue);
    cl_int (*clFinish)(cl_command_queue);
    cl_mem (*clCreateBuffer)(cl_context, cl_bitfield, std::size_t, void*, cl_int*);
    cl_mem (*clCreateSubBuffer)(cl_mem, cl_bitfield, cl_uint, const void*, cl_int*);
    cl_int (*clReleaseMemObject)(cl_mem);
    cl_int (*clGetKernelInfo)(cl_kernel, cl_uint, std::size_t, void*, std::size_t*);
    cl_int (*clSetKernelArg)(cl_kernel, cl_uint, std::size_t, const void*);
    cl_int (*clEnqueueNDRangeKernel)(cl_command_queue, cl_kernel, cl_uint, const std::size_t*, const std::size_t*,
                                     const std::size_t*, cl_uint, const cl_event*, cl_event*);
    cl_int (*clEnqueueReadBuffer)(cl_command_queue, cl_mem, cl_bool, std::size_t, std::size_t, void*, cl_uint,
                                  const cl_event*, cl_event*);
    cl_int (*clEnqueueWriteBuffer)(cl_command_queue, cl_mem, cl_bool, std::size_t, std::size_t, const void*, cl_uint,
                                   const cl_event*, cl_event*);
    cl_int (*clEnqueueCopyBuffer)(cl_command_queue, cl_mem, cl_mem, std::size_t, std::size_t, std::size_t, cl_uint,
                                  const cl_event*, cl_event*);
    cl_int (*clEnqueueReadBufferRect)(cl_command_queue, cl_mem, cl_bool, const std::size_t*, const std::size_t*,
                                      const std::size_t*, std::size_t, std::size_t, std::size_t, std::size_t, void*,
                                      cl_uint, const cl_event*, cl_event*);
    cl_int (*clEnqueueWriteBufferRect)(cl_command_queue, cl_mem, cl_bool, const std::size_t*, const std::size_t*,
                                       const std::size_t*, std::size_t, std::size_t, std::size_t, std::size_t,
                                       const void*, cl_uint, const cl_event*, cl_event*);
    cl_int (*clEnqueueCopyBufferRect)(cl_command_queue, cl_mem, cl_mem, const std::size_t*, const std::size_t*,
                                      const std::size_t*, std::size_t, std::size_t, std::size_t, std::size_t, cl_uint,
                                      const cl_event*, cl_event*);
    cl_int (*clEnqueueFillBuffer)(cl_command_queue, cl_mem, const void*, std::size_t, std::size_t, std::size_t, cl_uint,
                                  const cl_event*, cl_event*);
    cl_int (*clEnqueueNativeKernel)(cl_command_queue, void (*)(void*), void*, std::size_t, cl_uint, const cl_mem*,
                                    const void**, cl_uint, const cl_event*, cl_event*);
    cl_int (*clEnqueueMarkerWithWaitList)(cl_command_queue, cl_uint, const cl_event*, cl_event*);
    cl_int (*clEnqueueBarrierWithWaitList)(cl_command_queue, cl_uint, const cl_event*, cl_event*);
    cl_int (*clWaitForEvents)(cl_uint, const cl_event*);
    cl_int (*clGetEventInfo)(cl_event, cl_uint, std::size_t, void*, std::size_t*);
    cl_int (*clReleaseEvent)(cl_event);
};

/// See detail::also_load_opencl_from.
void also_load_from(std::string folder);

/// Returns why OpenCL cannot be called on this machine; empty where it can. Loads it at the first call.
const std::string& missing();

/// Returns the functions. Throws error(device_unavailable) where they are missing, error(device_lost) where !usable().
const functions& api();

/// Returns false in a process that was forked off since OpenCL was loaded: nothing may be called there, not even to
/// release what the parent made.
bool usable() noexcept;

/// Returns "CL_OUT_OF_RESOURCES" and so on; "OpenCL status -77" for a status without a name here.
std::string name_of(cl_int status);

/// Throws what `status`, which is not success, means: out_of_memory or device_lost where it says so, else `otherwise`.
/// The message is `asked`, then the name of the status.
[[noreturn]] void fail(cl_int status, const std::string& asked, error_code otherwise = error_code::transfer_failed);

}  // namespace unibuf::backends::cl
