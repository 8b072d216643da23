// backends/opencl/api.cpp: loads OpenCL, and says in words what it answers.
#include "backends/opencl/api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "process/forks.hpp"
#include "system/loader.hpp"

namespace unibuf::backends::cl {
namespace {

struct loaded {
    functions table{};
    int born = process::forks();
    std::string missing;
};

loaded load() {
    loaded result;
    const system::library found({"libOpenCL.so.1", "libOpenCL.so"});
    if (!found) {
        result.missing = "the OpenCL loader was not found: " + found.why();
        return result;
    }
    const auto find = [&](const char* name, auto*& function) {
        if (!found.find(name, function) && result.missing.empty()) {
            result.missing = fmt::format("libOpenCL.so.1 has no {}: it is older than OpenCL 1.2", name);
        }
    };
#define UNIBUF_FIND(name) find(#name, result.table.name)
    UNIBUF_FIND(clGetPlatformIDs);
    UNIBUF_FIND(clGetPlatformInfo);
    UNIBUF_FIND(clGetDeviceIDs);
    UNIBUF_FIND(clGetDeviceInfo);
    UNIBUF_FIND(clRetainDevice);
    UNIBUF_FIND(clCreateContext);
    UNIBUF_FIND(clRetainContext);
    UNIBUF_FIND(clReleaseContext);
    UNIBUF_FIND(clGetContextInfo);
    UNIBUF_FIND(clCreateCommandQueue);
    UNIBUF_FIND(clRetainCommandQueue);
    UNIBUF_FIND(clReleaseCommandQueue);
    UNIBUF_FIND(clGetCommandQueueInfo);
    UNIBUF_FIND(clFlush);
    UNIBUF_FIND(clFinish);
    UNIBUF_FIND(clCreateBuffer);
    UNIBUF_FIND(clCreateSubBuffer);
    UNIBUF_FIND(clReleaseMemObject);
    UNIBUF_FIND(clGetKernelInfo);
    UNIBUF_FIND(clSetKernelArg);
    UNIBUF_FIND(clEnqueueNDRangeKernel);
    UNIBUF_FIND(clEnqueueReadBuffer);
    UNIBUF_FIND(clEnqueueWriteBuffer);
    UNIBUF_FIND(clEnqueueCopyBuffer);
    UNIBUF_FIND(clEnqueueReadBufferRect);
    UNIBUF_FIND(clEnqueueWriteBufferRect);
    UNIBUF_FIND(clEnqueueCopyBufferRect);
    UNIBUF_FIND(clEnqueueFillBuffer);
    UNIBUF_FIND(clEnqueueNativeKernel);
    UNIBUF_FIND(clEnqueueMarkerWithWaitList);
    UNIBUF_FIND(clEnqueueBarrierWithWaitList);
    UNIBUF_FIND(clWaitForEvents);
    UNIBUF_FIND(clGetEventInfo);
    UNIBUF_FIND(clReleaseEvent);
#undef UNIBUF_FIND
    return result;
}

// These are never destroyed: buffers, which call them, may go when static objects do.
const loaded& loaded_once() {
    static const loaded& once = *new loaded(load());
    return once;
}

error_code meaning(cl_int status, error_code otherwise) {
    switch (status) {
        case mem_object_allocation_failure:
        case out_of_host_memory:
        case invalid_buffer_size:
            return error_code::out_of_memory;
        case device_not_available:
        case nvidia_illegal_access:
            return error_code::device_lost;
        default:
            return otherwise;
    }
}

}  // namespace

const std::string& missing() { return loaded_once().missing; }

bool usable() noexcept { return loaded_once().born == process::forks(); }

const functions& api() {
    if (!usable()) throw error(error_code::device_lost, "OpenCL was loaded by the parent process, and is not shared");
    if (!missing().empty()) throw error(error_code::device_unavailable, "OpenCL: " + missing());
    return loaded_once().table;
}

std::string name_of(cl_int status) {
    static constexpr std::array names = {
        std::pair{-1, "CL_DEVICE_NOT_FOUND"},
        std::pair{-2, "CL_DEVICE_NOT_AVAILABLE"},
        std::pair{-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        std::pair{-5, "CL_OUT_OF_RESOURCES"},
        std::pair{-6, "CL_OUT_OF_HOST_MEMORY"},
        std::pair{-8, "CL_MEM_COPY_OVERLAP"},
        std::pair{-12, "CL_MAP_FAILURE"},
        std::pair{-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
        std::pair{-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
        std::pair{-30, "CL_INVALID_VALUE"},
        std::pair{-32, "CL_INVALID_PLATFORM"},
        std::pair{-33, "CL_INVALID_DEVICE"},
        std::pair{-34, "CL_INVALID_CONTEXT"},
        std::pair{-35, "CL_INVALID_QUEUE_PROPERTIES"},
        std::pair{-36, "CL_INVALID_COMMAND_QUEUE"},
        std::pair{-37, "CL_INVALID_HOST_PTR"},
        std::pair{-38, "CL_INVALID_MEM_OBJECT"},
        std::pair{-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
        std::pair{-48, "CL_INVALID_KERNEL"},
        std::pair{-49, "CL_INVALID_ARG_INDEX"},
        std::pair{-50, "CL_INVALID_ARG_VALUE"},
        std::pair{-51, "CL_INVALID_ARG_SIZE"},
        std::pair{-52, "CL_INVALID_KERNEL_ARGS"},
        std::pair{-53, "CL_INVALID_WORK_DIMENSION"},
        std::pair{-54, "CL_INVALID_WORK_GROUP_SIZE"},
        std::pair{-55, "CL_INVALID_WORK_ITEM_SIZE"},
        std::pair{-57, "CL_INVALID_EVENT_WAIT_LIST"},
        std::pair{-58, "CL_INVALID_EVENT"},
        std::pair{-59, "CL_INVALID_OPERATION"},
        std::pair{-61, "CL_INVALID_BUFFER_SIZE"},
        std::pair{-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
        std::pair{-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    };
    const auto* found = std::ranges::find(names, status, &std::pair<int, const char*>::first);
    return found != names.end() ? found->second : fmt::format("OpenCL status {}", status);
}

void fail(cl_int status, const std::string& asked, error_code otherwise) {
    throw error(meaning(status, otherwise), fmt::format("{}: {}", asked, name_of(status)));
}

}  // namespace unibuf::backends::cl
