// tests/doubles/cuda/calls.hpp: the functions of the driver that the double has, under the names that a driver exports.
#pragma once

#include "doubles/cuda/driver.hpp"

struct CUmod_st;
struct CUfunc_st;

namespace cuda_double {

using module_handle = CUmod_st*;
using function_handle = CUfunc_st*;

}  // namespace cuda_double

// In the order of the sources: devices, streams, graphs, memory, copies, launches, graphics.
CUDA_DOUBLE_CALL cuInit(unsigned flags);
CUDA_DOUBLE_CALL cuDriverGetVersion(int* version);
CUDA_DOUBLE_CALL cuGetErrorName(cuda_double::result status, const char** name);
CUDA_DOUBLE_CALL cuGetErrorString(cuda_double::result status, const char** text);
CUDA_DOUBLE_CALL cuDeviceGetCount(int* count);
CUDA_DOUBLE_CALL cuDeviceGet(cuda_double::device_ordinal* device, int ordinal);
CUDA_DOUBLE_CALL cuDeviceGetName(char* name, int bytes, cuda_double::device_ordinal device);
CUDA_DOUBLE_CALL cuDeviceTotalMem_v2(std::size_t* bytes, cuda_double::device_ordinal device);
CUDA_DOUBLE_CALL cuDeviceGetAttribute(int* value, int which, cuda_double::device_ordinal device);
CUDA_DOUBLE_CALL cuDevicePrimaryCtxRetain(cuda_double::context_handle* context, cuda_double::device_ordinal device);
CUDA_DOUBLE_CALL cuDevicePrimaryCtxReset_v2(cuda_double::device_ordinal device);
CUDA_DOUBLE_CALL cuCtxPushCurrent_v2(cuda_double::context_handle context);
CUDA_DOUBLE_CALL cuCtxPopCurrent_v2(cuda_double::context_handle* context);
CUDA_DOUBLE_CALL cuCtxGetCurrent(cuda_double::context_handle* context);
CUDA_DOUBLE_CALL cuCtxSynchronize();
CUDA_DOUBLE_CALL cuDeviceCanAccessPeer(int* can, cuda_double::device_ordinal device, cuda_double::device_ordinal peer);
CUDA_DOUBLE_CALL cuCtxEnablePeerAccess(cuda_double::context_handle peer, unsigned flags);
CUDA_DOUBLE_CALL cuCtxGetStreamPriorityRange(int* least, int* highest);
CUDA_DOUBLE_CALL cuStreamCreate(cuda_double::stream_handle* stream, unsigned flags);
CUDA_DOUBLE_CALL cuStreamCreateWithPriority(cuda_double::stream_handle* stream, unsigned flags, int priority);
CUDA_DOUBLE_CALL cuStreamDestroy_v2(cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuStreamGetCtx(cuda_double::stream_handle stream, cuda_double::context_handle* context);
CUDA_DOUBLE_CALL cuStreamGetCtx_v2(cuda_double::stream_handle stream, cuda_double::context_handle* context,
                                   CUgreenCtx_st** green);
CUDA_DOUBLE_CALL cuStreamGetId(cuda_double::stream_handle stream, unsigned long long* id);
CUDA_DOUBLE_CALL cuStreamQuery(cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuStreamSynchronize(cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuStreamWaitEvent(cuda_double::stream_handle stream, cuda_double::event_handle event, unsigned);
CUDA_DOUBLE_CALL cuStreamIsCapturing(cuda_double::stream_handle stream, int* status);
CUDA_DOUBLE_CALL cuThreadExchangeStreamCaptureMode(int* mode);
CUDA_DOUBLE_CALL cuStreamBeginCapture_v2(cuda_double::stream_handle stream, int mode);
CUDA_DOUBLE_CALL cuStreamEndCapture(cuda_double::stream_handle stream, void** graph);
CUDA_DOUBLE_CALL cuGraphInstantiateWithFlags(void** made, void* of, unsigned long long flags);
CUDA_DOUBLE_CALL cuGraphLaunch(void* graph, cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuGraphExecDestroy(void* graph);
CUDA_DOUBLE_CALL cuGraphDestroy(void* graph);
CUDA_DOUBLE_CALL cuLaunchHostFunc(cuda_double::stream_handle stream, void (*function)(void*), void* data);
CUDA_DOUBLE_CALL cuEventCreate(cuda_double::event_handle* event, unsigned);
CUDA_DOUBLE_CALL cuEventDestroy_v2(cuda_double::event_handle event);
CUDA_DOUBLE_CALL cuEventRecord(cuda_double::event_handle event, cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuCtxRecordEvent(cuda_double::context_handle context, cuda_double::event_handle event);
CUDA_DOUBLE_CALL cuEventQuery(cuda_double::event_handle event);
CUDA_DOUBLE_CALL cuMemGetInfo_v2(std::size_t* free, std::size_t* total);
CUDA_DOUBLE_CALL cuMemAlloc_v2(cuda_double::device_pointer* address, std::size_t bytes);
CUDA_DOUBLE_CALL cuMemFree_v2(cuda_double::device_pointer address);
CUDA_DOUBLE_CALL cuMemPoolCreate(cuda_double::pool_handle* pool, const cuda_double::pool_properties* wanted);
CUDA_DOUBLE_CALL cuMemPoolSetAttribute(cuda_double::pool_handle pool, int which, void* value);
CUDA_DOUBLE_CALL cuMemPoolSetAccess(cuda_double::pool_handle pool, const cuda_double::access_of* who,
                                    std::size_t count);
CUDA_DOUBLE_CALL cuMemPoolTrimTo(cuda_double::pool_handle pool, std::size_t bytes);
CUDA_DOUBLE_CALL cuMemAllocFromPoolAsync(cuda_double::device_pointer* address, std::size_t bytes,
                                         cuda_double::pool_handle pool, cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuMemFreeAsync(cuda_double::device_pointer address, cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuMemHostAlloc(void** host, std::size_t bytes, unsigned flags);
CUDA_DOUBLE_CALL cuMemFreeHost(void* host);
CUDA_DOUBLE_CALL cuMemHostRegister_v2(void* host, std::size_t bytes, unsigned flags);
CUDA_DOUBLE_CALL cuMemHostUnregister(void* host);
CUDA_DOUBLE_CALL cuMemHostGetDevicePointer_v2(cuda_double::device_pointer* address, void* host, unsigned flags);
CUDA_DOUBLE_CALL cuPointerGetAttribute(void* value, int which, cuda_double::device_pointer address);
CUDA_DOUBLE_CALL cuMemcpyHtoDAsync_v2(cuda_double::device_pointer to, const void* host, std::size_t bytes,
                                      cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuMemcpyDtoHAsync_v2(void* host, cuda_double::device_pointer from_device, std::size_t bytes,
                                      cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuMemcpy2DAsync_v2(const cuda_double::rectangle* what, cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuMemcpyDtoDAsync_v2(cuda_double::device_pointer to, cuda_double::device_pointer source,
                                      std::size_t bytes, cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuMemcpyPeerAsync(cuda_double::device_pointer to, cuda_double::context_handle,
                                   cuda_double::device_pointer source, cuda_double::context_handle, std::size_t bytes,
                                   cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuMemsetD8Async(cuda_double::device_pointer to, unsigned char value, std::size_t count,
                                 cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuMemsetD16Async(cuda_double::device_pointer to, unsigned short value, std::size_t count,
                                  cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuMemsetD32Async(cuda_double::device_pointer to, unsigned value, std::size_t count,
                                  cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuMemcpyBatchAsync(cuda_double::device_pointer* to, cuda_double::device_pointer* source,
                                    std::size_t* sizes, std::size_t count, cuda_double::copy_attributes*, std::size_t*,
                                    std::size_t, std::size_t* failed, cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuMemcpyBatchAsync_v2(cuda_double::device_pointer* to, cuda_double::device_pointer* source,
                                       std::size_t* sizes, std::size_t count, cuda_double::copy_attributes*,
                                       std::size_t*, std::size_t, cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuModuleLoadData(cuda_double::module_handle* module, const void* image);
CUDA_DOUBLE_CALL cuModuleUnload(cuda_double::module_handle module);
CUDA_DOUBLE_CALL cuModuleGetFunction(cuda_double::function_handle* function, cuda_double::module_handle module,
                                     const char* name);
CUDA_DOUBLE_CALL cuLaunchKernel(cuda_double::function_handle function, unsigned grid_x, unsigned grid_y,
                                unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                cuda_double::stream_handle stream, void** parameters, void** extra);
CUDA_DOUBLE_CALL cuGLGetDevices_v2(unsigned* count, cuda_double::device_ordinal* devices, unsigned room, int list);
CUDA_DOUBLE_CALL cuGraphicsGLRegisterBuffer(cuda_double::resource_handle* resource, unsigned buffer, unsigned flags);
CUDA_DOUBLE_CALL cuGraphicsUnregisterResource(cuda_double::resource_handle resource);
CUDA_DOUBLE_CALL cuGraphicsMapResources(unsigned count, cuda_double::resource_handle* resources,
                                        cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuGraphicsUnmapResources(unsigned count, cuda_double::resource_handle* resources,
                                          cuda_double::stream_handle stream);
CUDA_DOUBLE_CALL cuGraphicsResourceGetMappedPointer_v2(cuda_double::device_pointer* address, std::size_t* bytes,
                                                       cuda_double::resource_handle resource);
CUDA_DOUBLE_CALL cuGetExportTable(const void** table, const void*);
