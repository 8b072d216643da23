// backends/opencl/api.cpp: loads OpenCL, and says in words what it answers.
#include "backends/opencl/api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>
#include <utility>

#include "process/forks.hpp"
#include "process/lasting.hpp"
#include "process/mutex.hpp"
#include "system/loader.hpp"

namespace unibuf::backends::cl {
namespace {

struct loaded {
    functions table{};
    int born = process::forks();
    std::string missing;
};

/// A folder of the program's that has a loader too; empty where it has named none.
struct other_folder {
    process::mutex mutex{process::mutex::rank::renewed};
    std::string name;

    static other_folder& instance() {
        static process::lasting<other_folder> only;
        return *only;
    }
};

bool has_platforms(const system::library& loader) {
    decltype(functions::clGetPlatformIDs) list = nullptr;
    cl_uint count = 0;
    return loader.find("clGetPlatformIDs", list) && list(0, nullptr, &count) == success && count != 0;
}

/// Loads what the .icd files of the folder name: the loader there finds it by its name alone, and only where it was
/// loaded before.
void load_drivers_of(const std::string& folder) {
    std::error_code unreadable;
    for (const auto& each : std::filesystem::directory_iterator(folder, unreadable)) {
        if (each.path().extension() != ".icd") continue;
        std::string name;
        std::ifstream(each.path()) >> name;
        if (name.empty() || name.find('/') != std::string::npos) continue;
        static_cast<void>(system::library({(std::filesystem::path(folder) / name).c_str()}));
    }
}

/// Loads the system's loader, or that of the program's folder where the system's knows of no platform.
system::library load_loader() {
    system::library of_system({"libOpenCL.so.1", "libOpenCL.so"});
    other_folder& other = other_folder::instance();
    const std::scoped_lock lock(other.mutex);
    if (other.name.empty() || (of_system && has_platforms(of_system))) return of_system;
    load_drivers_of(other.name);
    const std::string package = std::filesystem::path(other.name).parent_path();
    ::setenv("PYOPENCL_HOME", package.c_str(), 1);  // as PyOpenCL does: its loader looks for nothing without
    std::error_code unreadable;                     // what the system's loader lacks says enough then
    for (const auto& each : std::filesystem::directory_iterator(other.name, unreadable)) {
        if (!each.path().filename().string().starts_with("libOpenCL")) continue;
        const system::library found({each.path().c_str()});
        if (found && (!of_system || has_platforms(found))) return found;
    }
    return of_system;
}

loaded load() {
    loaded result;
    const system::library found = load_loader();
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

void also_load_from(std::string folder) {
    other_folder& other = other_folder::instance();
    const std::scoped_lock lock(other.mutex);
    other.name = std::move(folder);
}

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
