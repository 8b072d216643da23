// backends/cuda/api.hpp: the part of the CUDA driver API that this backend calls, found at run time.
//
// Types and values are those of <cuda.h> 12.0; the names of constants are in lower case, so that both can be included.
// Functions keep their names, without the suffix of a version: api.cpp says which version's ABI is meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "unibuf/cuda.hpp"

struct CUevent_st;
struct CUmemPoolHandle_st;
struct CUgraphicsResource_st;
struct CUgreenCtx_st;

namespace unibuf::backends::cuda {

using result = int;
using device_ordinal = int;
using device_pointer = unsigned long long;
using context_handle = CUctx_st*;
using stream_handle = CUstream_st*;
using event_handle = CUevent_st*;
using pool_handle = CUmemPoolHandle_st*;
using resource_handle = CUgraphicsResource_st*;

// These are values of CUresult.
inline constexpr result success = 0;
inline constexpr result invalid_value = 1;
inline constexpr result out_of_memory = 2;
inline constexpr result deinitialized = 4;
inline constexpr result no_device = 100;
inline constexpr result invalid_context = 201;
inline constexpr result ecc_uncorrectable = 214;
inline constexpr result invalid_graphics_context = 219;
inline constexpr result invalid_handle = 400;
inline constexpr result not_ready = 600;
inline constexpr result peer_access_already_enabled = 704;
inline constexpr result illegal_address = 700;
inline constexpr result context_is_destroyed = 709;
inline constexpr result host_memory_already_registered = 712;
inline constexpr result not_permitted = 800;
inline constexpr result not_supported = 801;
inline constexpr result stream_capture_unsupported = 900;

// These are values of CUdevice_attribute.
inline constexpr int multiprocessors = 16;
inline constexpr int integrated = 18;
inline constexpr int can_map_host_memory = 19;
inline constexpr int ecc_enabled = 32;
inline constexpr int pci_bus = 33;
inline constexpr int pci_device = 34;
inline constexpr int copy_engines = 40;
inline constexpr int unified_addressing = 41;
inline constexpr int pci_domain = 50;
inline constexpr int compute_capability_major = 75;
inline constexpr int compute_capability_minor = 76;
inline constexpr int pageable_memory_access = 88;
inline constexpr int can_use_registered_addresses = 91;  // the host's, of registered memory, at the device
inline constexpr int host_register_supported = 99;
inline constexpr int pageable_access_uses_host_page_tables = 100;
inline constexpr int memory_pools_supported = 115;

// These are flags, and values of smaller enums.
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr unsigned host_alloc_portable = 1;
inline constexpr unsigned host_alloc_device_map = 2;
inline constexpr unsigned host_alloc_write_combined = 4;
inline constexpr unsigned host_register_portable = 1;
inline constexpr unsigned host_register_device_map = 2;
inline constexpr int capture_none = 0;            // CUstreamCaptureStatus
inline constexpr int capture_mode_relaxed = 2;    // CUstreamCaptureMode
inline constexpr int pool_adds_dependencies = 3;  // CUmemPool_attribute, int: an allocation may wait for other streams
inline constexpr int pool_release_threshold = 4;  // CUmemPool_attribute, cuuint64_t
inline constexpr int allocation_pinned = 1;       // CUmemAllocationType
inline constexpr int location_device = 1;         // CUmemLocationType
inline constexpr int memory_of_host = 1;          // CUmemorytype
inline constexpr int memory_of_device = 2;        // CUmemorytype
inline constexpr int access_read_write = 3;       // CUmemAccess_flags
inline constexpr int source_in_stream_order = 1;  // CUmemcpySrcAccessOrder

/// These are the streams that have no handle of their own.
inline const stream_handle legacy_stream = reinterpret_cast<stream_handle>(std::uintptr_t{1});
inline const stream_handle per_thread_stream = reinterpret_cast<stream_handle>(std::uintptr_t{2});

/// Laid out as CUmemLocation.
struct location {
    int type;
    int id;
};

/// Laid out as CUmemPoolProps of 12.0; reserved members are zero.
struct pool_properties {
    int allocation_type;
    int handle_types;
    cuda::location location;
    void* security_attributes;
    std::size_t most;
    unsigned char reserved[56];
};
static_assert(sizeof(pool_properties) == 88);

/// Laid out as CUmemcpyAttributes of 12.8.
struct copy_attributes {
    int source_access_order;
    location source;
    location target;
    unsigned flags;
};
static_assert(sizeof(copy_attributes) == 24);

/// Laid out as CUDA_MEMCPY2D of 3.2. Its two ends have the same members in the same order.
struct rectangle {
    struct end {
        std::size_t column = 0;  // in bytes
        std::size_t row = 0;
        int memory = 0;
        const void* host = nullptr;
        device_pointer device = 0;
        void* array = nullptr;
        std::size_t pitch = 0;
    };
    end source;
    end target;
    std::size_t width;  // in bytes
    std::size_t height;
};
static_assert(sizeof(rectangle) == 128);

/// Laid out as CUmemAccessDesc.
struct access_of {
    cuda::location location;
    int flags;
};
static_assert(sizeof(access_of) == 12);

struct functions {
    result (*cuInit)(unsigned);
    result (*cuDriverGetVersion)(int*);
    result (*cuGetErrorName)(result, const char**);
    result (*cuGetErrorString)(result, const char**);

    result (*cuDeviceGetCount)(int*);
    result (*cuDeviceGet)(device_ordinal*, int);
    result (*cuDeviceGetName)(char*, int, device_ordinal);
    result (*cuDeviceTotalMem)(std::size_t*, device_ordinal);
    result (*cuDeviceGetAttribute)(int*, int, device_ordinal);
    result (*cuDevicePrimaryCtxRetain)(context_handle*, device_ordinal);

    result (*cuCtxPushCurrent)(context_handle);
    result (*cuCtxPopCurrent)(context_handle*);
    result (*cuCtxSynchronize)();
    result (*cuDeviceCanAccessPeer)(int*, device_ordinal, device_ordinal);
    result (*cuCtxEnablePeerAccess)(context_handle, unsigned);

    result (*cuCtxGetStreamPriorityRange)(int*, int*);
    result (*cuStreamCreateWithPriority)(stream_handle*, unsigned, int);
    result (*cuStreamGetCtx)(stream_handle, context_handle*);
    result (*cuStreamGetId)(stream_handle, unsigned long long*);
    result (*cuStreamSynchronize)(stream_handle);
    result (*cuStreamWaitEvent)(stream_handle, event_handle, unsigned);
    result (*cuStreamIsCapturing)(stream_handle, int*);
    result (*cuThreadExchangeStreamCaptureMode)(int*);

    result (*cuEventCreate)(event_handle*, unsigned);
    result (*cuEventDestroy)(event_handle);
    result (*cuEventRecord)(event_handle, stream_handle);
    result (*cuEventQuery)(event_handle);

    result (*cuMemGetInfo)(std::size_t*, std::size_t*);
    result (*cuMemAlloc)(device_pointer*, std::size_t);
    result (*cuMemFree)(device_pointer);
    result (*cuMemHostAlloc)(void**, std::size_t, unsigned);
    result (*cuMemFreeHost)(void*);
    result (*cuMemHostRegister)(void*, std::size_t, unsigned);
    result (*cuMemHostUnregister)(void*);
    result (*cuPointerGetAttribute)(void*, int, device_pointer);
    result (*cuMemHostGetDevicePointer)(device_pointer*, void*, unsigned);

    result (*cuMemcpyHtoDAsync)(device_pointer, const void*, std::size_t, stream_handle);
    result (*cuMemcpyDtoHAsync)(void*, device_pointer, std::size_t, stream_handle);
    result (*cuMemcpyDtoDAsync)(device_pointer, device_pointer, std::size_t, stream_handle);
    result (*cuMemcpyPeerAsync)(device_pointer, context_handle, device_pointer, context_handle, std::size_t,
                                stream_handle);
    result (*cuMemcpy2DAsync)(const rectangle*, stream_handle);
    result (*cuMemsetD8Async)(device_pointer, unsigned char, std::size_t, stream_handle);
    result (*cuMemsetD16Async)(device_pointer, unsigned short, std::size_t, stream_handle);
    result (*cuMemsetD32Async)(device_pointer, unsigned, std::size_t, stream_handle);

    // These are null where the driver is older than the version behind them, or the device lacks them.
    result (*cuStreamGetCtx_v2)(stream_handle, context_handle*, CUgreenCtx_st** green);           // 12.5
    result (*cuCtxRecordEvent)(context_handle, event_handle);                                     // 12.5
    result (*cuMemPoolCreate)(pool_handle*, const pool_properties*);                              // 11.2
    result (*cuMemPoolSetAttribute)(pool_handle, int, void*);                                     // 11.2
    result (*cuMemPoolSetAccess)(pool_handle, const access_of*, std::size_t);                     // 11.2
    result (*cuMemPoolTrimTo)(pool_handle, std::size_t);                                          // 11.2
    result (*cuMemAllocFromPoolAsync)(device_pointer*, std::size_t, pool_handle, stream_handle);  // 11.2
    result (*cuMemFreeAsync)(device_pointer, stream_handle);                                      // 11.2
    result (*cuMemcpyBatchAsync)(device_pointer*, device_pointer*, std::size_t*, std::size_t, copy_attributes*,
                                 std::size_t*, std::size_t, std::size_t*, stream_handle);  // 12.8

    // These are null where the driver knows nothing of OpenGL.
    result (*cuGLGetDevices)(unsigned*, device_ordinal*, unsigned, int);
    result (*cuGraphicsGLRegisterBuffer)(resource_handle*, unsigned, unsigned);
    result (*cuGraphicsUnregisterResource)(resource_handle);
    result (*cuGraphicsMapResources)(unsigned, resource_handle*, stream_handle);
    result (*cuGraphicsUnmapResources)(unsigned, resource_handle*, stream_handle);
    result (*cuGraphicsResourceGetMappedPointer)(device_pointer*, std::size_t*, resource_handle);
};

/// Returns "12.4" for 12040, which is how CUDA counts.
std::string version_text(int version);

/// Returns why CUDA cannot be called on this machine; empty where it can. Loads and initializes it at the first call.
const std::string& missing();

/// Returns the functions. Throws error(device_unavailable) where they are missing.
const functions& api();

}  // namespace unibuf::backends::cuda
