// tests/doubles/cuda/lookup.cpp: the driver's functions by name and version.
#include <cstring>

#include "doubles/cuda/calls.hpp"
#include "doubles/cuda/settings.hpp"

using namespace cuda_double;

namespace {

struct symbol {
    const char* name;
    int since;  // the version that brought this form of it
    void* function;
};

template <class Function>
void* untyped(Function* function) {
    return reinterpret_cast<void*>(function);
}

const symbol symbols[] = {
    {"cuInit", 2000, untyped(&cuInit)},
    {"cuDriverGetVersion", 2020, untyped(&cuDriverGetVersion)},
    {"cuGetErrorName", 6000, untyped(&cuGetErrorName)},
    {"cuGetErrorString", 6000, untyped(&cuGetErrorString)},
    {"cuDeviceGetCount", 2000, untyped(&cuDeviceGetCount)},
    {"cuDeviceGet", 2000, untyped(&cuDeviceGet)},
    {"cuDeviceGetName", 2000, untyped(&cuDeviceGetName)},
    {"cuDeviceTotalMem", 3020, untyped(&cuDeviceTotalMem_v2)},
    {"cuDeviceGetAttribute", 2000, untyped(&cuDeviceGetAttribute)},
    {"cuDevicePrimaryCtxRetain", 7000, untyped(&cuDevicePrimaryCtxRetain)},
    {"cuDevicePrimaryCtxReset", 11000, untyped(&cuDevicePrimaryCtxReset_v2)},
    {"cuCtxPushCurrent", 4000, untyped(&cuCtxPushCurrent_v2)},
    {"cuCtxPopCurrent", 4000, untyped(&cuCtxPopCurrent_v2)},
    {"cuCtxGetCurrent", 4000, untyped(&cuCtxGetCurrent)},
    {"cuCtxSynchronize", 2000, untyped(&cuCtxSynchronize)},
    {"cuCtxRecordEvent", 12050, untyped(&cuCtxRecordEvent)},
    {"cuCtxGetStreamPriorityRange", 5050, untyped(&cuCtxGetStreamPriorityRange)},
    {"cuStreamCreate", 2000, untyped(&cuStreamCreate)},
    {"cuStreamCreateWithPriority", 5050, untyped(&cuStreamCreateWithPriority)},
    {"cuStreamDestroy", 4000, untyped(&cuStreamDestroy_v2)},
    {"cuStreamGetCtx", 9020, untyped(&cuStreamGetCtx)},
    {"cuStreamGetCtx", 12050, untyped(&cuStreamGetCtx_v2)},
    {"cuStreamGetId", 12000, untyped(&cuStreamGetId)},
    {"cuStreamQuery", 2000, untyped(&cuStreamQuery)},
    {"cuStreamSynchronize", 2000, untyped(&cuStreamSynchronize)},
    {"cuStreamWaitEvent", 3020, untyped(&cuStreamWaitEvent)},
    {"cuStreamIsCapturing", 10000, untyped(&cuStreamIsCapturing)},
    {"cuStreamBeginCapture", 10010, untyped(&cuStreamBeginCapture_v2)},
    {"cuStreamEndCapture", 10000, untyped(&cuStreamEndCapture)},
    {"cuThreadExchangeStreamCaptureMode", 10010, untyped(&cuThreadExchangeStreamCaptureMode)},
    {"cuGraphInstantiateWithFlags", 11040, untyped(&cuGraphInstantiateWithFlags)},
    {"cuGraphLaunch", 10000, untyped(&cuGraphLaunch)},
    {"cuGraphExecDestroy", 10000, untyped(&cuGraphExecDestroy)},
    {"cuGraphDestroy", 10000, untyped(&cuGraphDestroy)},
    {"cuLaunchHostFunc", 10000, untyped(&cuLaunchHostFunc)},
    {"cuEventCreate", 2000, untyped(&cuEventCreate)},
    {"cuEventDestroy", 4000, untyped(&cuEventDestroy_v2)},
    {"cuEventRecord", 2000, untyped(&cuEventRecord)},
    {"cuEventQuery", 2000, untyped(&cuEventQuery)},
    {"cuMemGetInfo", 3020, untyped(&cuMemGetInfo_v2)},
    {"cuMemAlloc", 3020, untyped(&cuMemAlloc_v2)},
    {"cuMemFree", 3020, untyped(&cuMemFree_v2)},
    {"cuMemHostAlloc", 2020, untyped(&cuMemHostAlloc)},
    {"cuMemFreeHost", 2000, untyped(&cuMemFreeHost)},
    {"cuMemHostRegister", 6050, untyped(&cuMemHostRegister_v2)},
    {"cuMemHostUnregister", 4000, untyped(&cuMemHostUnregister)},
    {"cuMemHostGetDevicePointer", 3020, untyped(&cuMemHostGetDevicePointer_v2)},
    {"cuPointerGetAttribute", 4000, untyped(&cuPointerGetAttribute)},
    {"cuMemcpyHtoDAsync", 3020, untyped(&cuMemcpyHtoDAsync_v2)},
    {"cuMemcpyDtoHAsync", 3020, untyped(&cuMemcpyDtoHAsync_v2)},
    {"cuMemcpyDtoDAsync", 3020, untyped(&cuMemcpyDtoDAsync_v2)},
    {"cuMemcpyPeerAsync", 4000, untyped(&cuMemcpyPeerAsync)},
    {"cuMemcpyBatchAsync", 12080, untyped(&cuMemcpyBatchAsync)},
    {"cuMemcpyBatchAsync", 13000, untyped(&cuMemcpyBatchAsync_v2)},
    {"cuMemcpy2DAsync", 3020, untyped(&cuMemcpy2DAsync_v2)},
    {"cuDeviceCanAccessPeer", 4000, untyped(&cuDeviceCanAccessPeer)},
    {"cuCtxEnablePeerAccess", 4000, untyped(&cuCtxEnablePeerAccess)},
    {"cuMemPoolSetAccess", 11020, untyped(&cuMemPoolSetAccess)},
    {"cuMemsetD8Async", 3020, untyped(&cuMemsetD8Async)},
    {"cuMemsetD16Async", 3020, untyped(&cuMemsetD16Async)},
    {"cuMemsetD32Async", 3020, untyped(&cuMemsetD32Async)},
    {"cuMemPoolCreate", 11020, untyped(&cuMemPoolCreate)},
    {"cuMemPoolSetAttribute", 11020, untyped(&cuMemPoolSetAttribute)},
    {"cuMemPoolTrimTo", 11020, untyped(&cuMemPoolTrimTo)},
    {"cuMemAllocFromPoolAsync", 11020, untyped(&cuMemAllocFromPoolAsync)},
    {"cuMemFreeAsync", 11020, untyped(&cuMemFreeAsync)},
    {"cuModuleLoadData", 2000, untyped(&cuModuleLoadData)},
    {"cuModuleUnload", 2000, untyped(&cuModuleUnload)},
    {"cuModuleGetFunction", 2000, untyped(&cuModuleGetFunction)},
    {"cuLaunchKernel", 4000, untyped(&cuLaunchKernel)},
    {"cuGLGetDevices", 6050, untyped(&cuGLGetDevices_v2)},
    {"cuGraphicsGLRegisterBuffer", 3000, untyped(&cuGraphicsGLRegisterBuffer)},
    {"cuGraphicsUnregisterResource", 3000, untyped(&cuGraphicsUnregisterResource)},
    {"cuGraphicsMapResources", 3000, untyped(&cuGraphicsMapResources)},
    {"cuGraphicsUnmapResources", 3000, untyped(&cuGraphicsUnmapResources)},
    {"cuGraphicsResourceGetMappedPointer", 3020, untyped(&cuGraphicsResourceGetMappedPointer_v2)},
};

}  // namespace

CUDA_DOUBLE_CALL cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags, int* status) {
    if (!name || !function || flags > 2 || version > chosen().version) return invalid_value;
    const symbol* best = nullptr;
    bool known = false;
    for (const symbol& each : symbols) {
        if (std::strcmp(each.name, name) != 0) continue;
        known = true;
        if (each.since <= version && (!best || each.since > best->since)) best = &each;
    }
    *function = best ? best->function : nullptr;
    if (status) *status = best ? 0 : known ? version_not_sufficient : symbol_not_found;
    return success;
}
