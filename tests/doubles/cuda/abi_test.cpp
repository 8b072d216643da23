// tests/doubles/cuda/abi_test.cpp: where <cuda.h> is there, the backend's own declarations are compared with it.
#include <gtest/gtest.h>

#ifdef UNIBUF_CUDA_HEADERS

// First: <cuda.h> gives functions the names of their versions, the members of the table too.
#include <cuda.h>
#include <cudaTypedefs.h>
#if __has_include(<GL/gl.h>) && __has_include(<cudaGLTypedefs.h>)
#include <cudaGLTypedefs.h>
#define UNIBUF_CUDA_GL_HEADERS
#endif

#include <cstddef>

#include "backends/cuda/api.hpp"
#include "support/same_call.hpp"

namespace {

namespace own = unibuf::backends::cuda;

using unibuf::test::same_call;

#define SAME_CALL(name, version) \
    static_assert(same_call<decltype(own::functions::name), PFN_##name##_v##version>::value, #name)

SAME_CALL(cuInit, 2000);
SAME_CALL(cuDriverGetVersion, 2020);
SAME_CALL(cuGetErrorName, 6000);
SAME_CALL(cuGetErrorString, 6000);
SAME_CALL(cuDeviceGetCount, 2000);
SAME_CALL(cuDeviceGet, 2000);
SAME_CALL(cuDeviceGetName, 2000);
SAME_CALL(cuDeviceTotalMem, 3020);
SAME_CALL(cuDeviceGetAttribute, 2000);
SAME_CALL(cuDevicePrimaryCtxRetain, 7000);
SAME_CALL(cuCtxPushCurrent, 4000);
SAME_CALL(cuCtxPopCurrent, 4000);
SAME_CALL(cuCtxSynchronize, 2000);
SAME_CALL(cuCtxGetStreamPriorityRange, 5050);
SAME_CALL(cuStreamCreateWithPriority, 5050);
SAME_CALL(cuStreamGetCtx, 9020);
SAME_CALL(cuStreamGetId, 12000);
SAME_CALL(cuStreamSynchronize, 2000);
SAME_CALL(cuStreamWaitEvent, 3020);
SAME_CALL(cuStreamIsCapturing, 10000);
SAME_CALL(cuThreadExchangeStreamCaptureMode, 10010);
SAME_CALL(cuEventCreate, 2000);
SAME_CALL(cuEventDestroy, 4000);
SAME_CALL(cuEventRecord, 2000);
SAME_CALL(cuEventQuery, 2000);
SAME_CALL(cuMemGetInfo, 3020);
SAME_CALL(cuMemAlloc, 3020);
SAME_CALL(cuMemFree, 3020);
SAME_CALL(cuMemHostAlloc, 2020);
SAME_CALL(cuMemFreeHost, 2000);
SAME_CALL(cuMemHostRegister, 6050);
SAME_CALL(cuMemHostUnregister, 4000);
SAME_CALL(cuPointerGetAttribute, 4000);
SAME_CALL(cuMemHostGetDevicePointer, 3020);
SAME_CALL(cuMemcpyHtoDAsync, 3020);
SAME_CALL(cuMemcpyDtoHAsync, 3020);
SAME_CALL(cuMemcpyDtoDAsync, 3020);
SAME_CALL(cuMemcpyPeerAsync, 4000);
SAME_CALL(cuMemcpy2DAsync, 3020);
SAME_CALL(cuDeviceCanAccessPeer, 4000);
SAME_CALL(cuCtxEnablePeerAccess, 4000);
SAME_CALL(cuMemPoolSetAccess, 11020);
SAME_CALL(cuMemsetD8Async, 3020);
SAME_CALL(cuMemsetD16Async, 3020);
SAME_CALL(cuMemsetD32Async, 3020);
static_assert(same_call<decltype(own::functions::cuStreamGetCtx_v2), PFN_cuStreamGetCtx_v12050>::value);
SAME_CALL(cuCtxRecordEvent, 12050);
SAME_CALL(cuMemPoolCreate, 11020);
SAME_CALL(cuMemPoolSetAttribute, 11020);
SAME_CALL(cuMemPoolTrimTo, 11020);
SAME_CALL(cuMemAllocFromPoolAsync, 11020);
SAME_CALL(cuMemFreeAsync, 11020);
SAME_CALL(cuMemcpyBatchAsync, 12080);
SAME_CALL(cuGraphicsUnregisterResource, 3000);
SAME_CALL(cuGraphicsMapResources, 3000);
SAME_CALL(cuGraphicsUnmapResources, 3000);
SAME_CALL(cuGraphicsResourceGetMappedPointer, 3020);
#ifdef UNIBUF_CUDA_GL_HEADERS
SAME_CALL(cuGLGetDevices, 6050);
SAME_CALL(cuGraphicsGLRegisterBuffer, 3000);
#endif

#define SAME(mine, theirs) static_assert(static_cast<long long>(own::mine) == static_cast<long long>(theirs))

SAME(success, CUDA_SUCCESS);
SAME(invalid_value, CUDA_ERROR_INVALID_VALUE);
SAME(out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(deinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(no_device, CUDA_ERROR_NO_DEVICE);
SAME(invalid_context, CUDA_ERROR_INVALID_CONTEXT);
SAME(ecc_uncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(invalid_graphics_context, CUDA_ERROR_INVALID_GRAPHICS_CONTEXT);
SAME(invalid_handle, CUDA_ERROR_INVALID_HANDLE);
SAME(not_ready, CUDA_ERROR_NOT_READY);
SAME(illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(context_is_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME(host_memory_already_registered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME(not_permitted, CUDA_ERROR_NOT_PERMITTED);
SAME(not_supported, CUDA_ERROR_NOT_SUPPORTED);
SAME(stream_capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
SAME(can_map_host_memory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
SAME(ecc_enabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
SAME(pci_bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
SAME(pci_device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
SAME(copy_engines, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
SAME(unified_addressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(pci_domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
SAME(compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(pageable_memory_access, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
SAME(pageable_access_uses_host_page_tables, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
SAME(memory_pools_supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME(stream_non_blocking, CU_STREAM_NON_BLOCKING);
SAME(event_disable_timing, CU_EVENT_DISABLE_TIMING);
SAME(host_alloc_portable, CU_MEMHOSTALLOC_PORTABLE);
SAME(host_alloc_device_map, CU_MEMHOSTALLOC_DEVICEMAP);
SAME(host_alloc_write_combined, CU_MEMHOSTALLOC_WRITECOMBINED);
SAME(host_register_portable, CU_MEMHOSTREGISTER_PORTABLE);
SAME(host_register_device_map, CU_MEMHOSTREGISTER_DEVICEMAP);
SAME(capture_none, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(capture_mode_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(pool_release_threshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME(allocation_pinned, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(location_device, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(memory_of_host, CU_MEMORYTYPE_HOST);
SAME(memory_of_device, CU_MEMORYTYPE_DEVICE);
SAME(access_read_write, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME(peer_access_already_enabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
SAME(source_in_stream_order, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);

static_assert(sizeof(own::pool_properties) == sizeof(CUmemPoolProps));
static_assert(offsetof(own::pool_properties, location) == offsetof(CUmemPoolProps, location));
static_assert(offsetof(own::pool_properties, most) == offsetof(CUmemPoolProps, maxSize));
static_assert(sizeof(own::copy_attributes) == sizeof(CUmemcpyAttributes));
static_assert(offsetof(own::copy_attributes, source) == offsetof(CUmemcpyAttributes, srcLocHint));
static_assert(offsetof(own::copy_attributes, flags) == offsetof(CUmemcpyAttributes, flags));
static_assert(sizeof(own::access_of) == sizeof(CUmemAccessDesc));
static_assert(sizeof(own::rectangle) == sizeof(CUDA_MEMCPY2D));
static_assert(offsetof(own::rectangle, source.device) == offsetof(CUDA_MEMCPY2D, srcDevice));
static_assert(offsetof(own::rectangle, source.pitch) == offsetof(CUDA_MEMCPY2D, srcPitch));
static_assert(offsetof(own::rectangle, target.memory) == offsetof(CUDA_MEMCPY2D, dstMemoryType));
static_assert(offsetof(own::rectangle, target.pitch) == offsetof(CUDA_MEMCPY2D, dstPitch));
static_assert(offsetof(own::rectangle, height) == offsetof(CUDA_MEMCPY2D, Height));

TEST(cuda_abi, is_that_of_the_headers) {
    EXPECT_EQ(own::legacy_stream, CU_STREAM_LEGACY);
    EXPECT_EQ(own::per_thread_stream, CU_STREAM_PER_THREAD);
}

}  // namespace

#else

TEST(cuda_abi, is_that_of_the_headers) { GTEST_SKIP() << "<cuda.h> is not here"; }

#endif
