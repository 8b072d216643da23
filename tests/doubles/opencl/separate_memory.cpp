// doubles/opencl/separate_memory.cpp: an OpenCL layer that keeps bytes of its own behind CL_MEM_USE_HOST_PTR, as the
// specification allows a driver to. A test double: the loader puts it between programs and PoCL where OPENCL_LAYERS
// names it. PoCL itself uses the host's memory in place, and forgives what other drivers do not.
//
// The device's bytes are what the host's were when the buffer was made. From then on they are taken to the host by a
// map and by a read, and from the host by an unmap of what was mapped for writing and by a write, and by nothing else.
#include <CL/cl_layer.h>

#include <cstddef>
#include <map>
#include <mutex>

namespace {

const cl_icd_dispatch* driver = nullptr;

struct mapped {
    std::size_t offset;
    std::size_t bytes;
    bool written;
};

/// A buffer that was made of host memory.
struct separate {
    std::byte* host = nullptr;
    std::multimap<void*, mapped> maps;
};

std::mutex mutex;
std::map<cl_mem, separate> all;

cl_mem make(cl_context in, cl_mem_flags flags, std::size_t bytes, void* host, cl_int* status) {
    if (!(flags & CL_MEM_USE_HOST_PTR)) return driver->clCreateBuffer(in, flags, bytes, host, status);
    const cl_mem_flags copied = (flags & ~cl_mem_flags{CL_MEM_USE_HOST_PTR}) | CL_MEM_COPY_HOST_PTR;
    const cl_mem made = driver->clCreateBuffer(in, copied, bytes, host, status);
    const std::scoped_lock lock(mutex);
    if (made) all[made].host = static_cast<std::byte*>(host);
    return made;
}

cl_int release(cl_mem gone) {
    {
        const std::scoped_lock lock(mutex);
        cl_uint count = 0;
        driver->clGetMemObjectInfo(gone, CL_MEM_REFERENCE_COUNT, sizeof count, &count, nullptr);
        if (count == 1) all.erase(gone);
    }
    return driver->clReleaseMemObject(gone);
}

void* map(cl_command_queue on, cl_mem of, cl_bool blocking, cl_map_flags how, std::size_t offset, std::size_t bytes,
          cl_uint waits, const cl_event* before, cl_event* done, cl_int* status) {
    std::byte* host = nullptr;
    {
        const std::scoped_lock lock(mutex);
        const auto found = all.find(of);
        if (found == all.end()) {
            return driver->clEnqueueMapBuffer(on, of, blocking, how, offset, bytes, waits, before, done, status);
        }
        host = found->second.host + offset;
        found->second.maps.emplace(host, mapped{offset, bytes, (how & ~cl_map_flags{CL_MAP_READ}) != 0});
    }
    const cl_int answer = driver->clEnqueueReadBuffer(on, of, blocking, offset, bytes, host, waits, before, done);
    if (status) *status = answer;
    return answer == CL_SUCCESS ? host : nullptr;
}

cl_int unmap(cl_command_queue on, cl_mem of, void* address, cl_uint waits, const cl_event* before, cl_event* done) {
    mapped ended{};
    {
        const std::scoped_lock lock(mutex);
        const auto found = all.find(of);
        if (found == all.end()) return driver->clEnqueueUnmapMemObject(on, of, address, waits, before, done);
        const auto at = found->second.maps.find(address);
        if (at == found->second.maps.end()) return CL_INVALID_VALUE;
        ended = at->second;
        found->second.maps.erase(at);
    }
    if (!ended.written) return driver->clEnqueueMarkerWithWaitList(on, waits, before, done);
    return driver->clEnqueueWriteBuffer(on, of, CL_FALSE, ended.offset, ended.bytes, address, waits, before, done);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) cl_int clGetLayerInfo(cl_layer_info what, std::size_t room, void* value,
                                                             std::size_t* needed) {
    if (what != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
    if (needed) *needed = sizeof(cl_layer_api_version);
    if (value && room < sizeof(cl_layer_api_version)) return CL_INVALID_VALUE;
    if (value) *static_cast<cl_layer_api_version*>(value) = CL_LAYER_API_VERSION_100;
    return CL_SUCCESS;
}

__attribute__((visibility("default"))) cl_int clInitLayer(cl_uint entries, const cl_icd_dispatch* below,
                                                          cl_uint* entries_of_layer, const cl_icd_dispatch** layer) {
    static cl_icd_dispatch own{};
    if (entries < sizeof own / sizeof(void*)) return CL_INVALID_VALUE;
    driver = below;
    own = *below;
    own.clCreateBuffer = make;
    own.clReleaseMemObject = release;
    own.clEnqueueMapBuffer = map;
    own.clEnqueueUnmapMemObject = unmap;
    *entries_of_layer = sizeof own / sizeof(void*);
    *layer = &own;
    return CL_SUCCESS;
}
}
