// peers/layer.cpp: an OpenCL layer that counts the bytes of transfers between host and device. The loader puts it
// between any program and the driver, where OPENCL_LAYERS names it.
#include <CL/cl_layer.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace {

const cl_icd_dispatch* driver = nullptr;
std::atomic<std::uint64_t> copied = 0;
std::atomic<std::uint64_t> mapped = 0;

std::size_t volume(const std::size_t* region) { return region[0] * region[1] * region[2]; }

cl_int read(cl_command_queue on, cl_mem from, cl_bool blocking, std::size_t offset, std::size_t bytes, void* to,
            cl_uint waits, const cl_event* before, cl_event* done) {
    copied += bytes;
    return driver->clEnqueueReadBuffer(on, from, blocking, offset, bytes, to, waits, before, done);
}

cl_int write(cl_command_queue on, cl_mem to, cl_bool blocking, std::size_t offset, std::size_t bytes, const void* from,
             cl_uint waits, const cl_event* before, cl_event* done) {
    copied += bytes;
    return driver->clEnqueueWriteBuffer(on, to, blocking, offset, bytes, from, waits, before, done);
}

cl_int read_rectangle(cl_command_queue on, cl_mem from, cl_bool blocking, const std::size_t* origin,
                      const std::size_t* host_origin, const std::size_t* region, std::size_t row, std::size_t slice,
                      std::size_t host_row, std::size_t host_slice, void* to, cl_uint waits, const cl_event* before,
                      cl_event* done) {
    copied += volume(region);
    return driver->clEnqueueReadBufferRect(on, from, blocking, origin, host_origin, region, row, slice, host_row,
                                           host_slice, to, waits, before, done);
}

cl_int write_rectangle(cl_command_queue on, cl_mem to, cl_bool blocking, const std::size_t* origin,
                       const std::size_t* host_origin, const std::size_t* region, std::size_t row, std::size_t slice,
                       std::size_t host_row, std::size_t host_slice, const void* from, cl_uint waits,
                       const cl_event* before, cl_event* done) {
    copied += volume(region);
    return driver->clEnqueueWriteBufferRect(on, to, blocking, origin, host_origin, region, row, slice, host_row,
                                            host_slice, from, waits, before, done);
}

void* map(cl_command_queue on, cl_mem of, cl_bool blocking, cl_map_flags how, std::size_t offset, std::size_t bytes,
          cl_uint waits, const cl_event* before, cl_event* done, cl_int* status) {
    mapped += bytes;
    return driver->clEnqueueMapBuffer(on, of, blocking, how, offset, bytes, waits, before, done, status);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void unibuf_peers_moved(std::uint64_t* bytes_copied,
                                                               std::uint64_t* bytes_mapped) {
    *bytes_copied = copied;
    *bytes_mapped = mapped;
}

// The header's own parameter names are not taken over.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
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
    own.clEnqueueReadBuffer = read;
    own.clEnqueueWriteBuffer = write;
    own.clEnqueueReadBufferRect = read_rectangle;
    own.clEnqueueWriteBufferRect = write_rectangle;
    own.clEnqueueMapBuffer = map;
    *entries_of_layer = sizeof own / sizeof(void*);
    *layer = &own;
    return CL_SUCCESS;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
}
