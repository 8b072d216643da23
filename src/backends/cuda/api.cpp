// backends/cuda/api.cpp: loads the driver.
#include "backends/cuda/api.hpp"

#include <fmt/format.h>

#include "system/loader.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends::cuda {
namespace {

constexpr int oldest = 12000;

struct loaded {
    functions table{};
    std::string missing;
};

class loader {
public:
    loaded load() {
        if (!driver_) return unavailable("the CUDA driver was not found: " + driver_.why());
        if (!driver_.find("cuGetProcAddress_v2", get_)) return unavailable("the CUDA driver is older than 12.0");
        find_all();
        const functions& cuda = result_.table;
        int version = oldest;
        if (cuda.cuDriverGetVersion) cuda.cuDriverGetVersion(&version);
        if (version < oldest) {
            return unavailable(
                fmt::format("the CUDA driver is {}; unibuf needs {}", version_text(version), version_text(oldest)));
        }
        if (!missing_.empty()) return unavailable("the CUDA driver has no " + missing_);
        if (const int status = cuda.cuInit(0); status != success) {
            const char* text = nullptr;
            cuda.cuGetErrorString(status, &text);
            return unavailable(fmt::format("the CUDA driver cannot start: {}", text ? text : "unknown error"));
        }
        return std::move(result_);
    }

private:
    static loaded unavailable(std::string why) { return {.table = {}, .missing = std::move(why)}; }

    /// Finds a function that older drivers may lack. `abi` is the version of CUDA that declared it as api.hpp does.
    template <class Function>
    void find_newer(const char* name, Function*& function, int abi) {
        constexpr std::uint64_t default_flags = 0;
        void* found = nullptr;
        int status = 0;
        if (get_(name, &found, abi, default_flags, &status) == success) function = reinterpret_cast<Function*>(found);
    }

    template <class Function>
    void find(const char* name, Function*& function, int abi) {
        find_newer(name, function, abi);
        if (!function && missing_.empty()) missing_ = name;
    }

    void find_all() {
        functions& table = result_.table;
#define UNIBUF_FIND(name) find(#name, table.name, oldest)
        // Even a driver that is too old for all others has this function, which tells how old it is.
        find("cuDriverGetVersion", table.cuDriverGetVersion, 2020);
        UNIBUF_FIND(cuInit);
        UNIBUF_FIND(cuGetErrorName);
        UNIBUF_FIND(cuGetErrorString);
        UNIBUF_FIND(cuDeviceGetCount);
        UNIBUF_FIND(cuDeviceGet);
        UNIBUF_FIND(cuDeviceGetName);
        UNIBUF_FIND(cuDeviceTotalMem);
        UNIBUF_FIND(cuDeviceGetAttribute);
        UNIBUF_FIND(cuDevicePrimaryCtxRetain);
        UNIBUF_FIND(cuCtxPushCurrent);
        UNIBUF_FIND(cuCtxPopCurrent);
        UNIBUF_FIND(cuCtxSynchronize);
        UNIBUF_FIND(cuDeviceCanAccessPeer);
        UNIBUF_FIND(cuCtxEnablePeerAccess);
        UNIBUF_FIND(cuCtxGetStreamPriorityRange);
        UNIBUF_FIND(cuStreamCreateWithPriority);
        UNIBUF_FIND(cuStreamGetCtx);
        UNIBUF_FIND(cuStreamGetId);
        UNIBUF_FIND(cuStreamSynchronize);
        UNIBUF_FIND(cuStreamWaitEvent);
        UNIBUF_FIND(cuStreamIsCapturing);
        UNIBUF_FIND(cuThreadExchangeStreamCaptureMode);
        UNIBUF_FIND(cuEventCreate);
        UNIBUF_FIND(cuEventDestroy);
        UNIBUF_FIND(cuEventRecord);
        UNIBUF_FIND(cuEventQuery);
        UNIBUF_FIND(cuMemGetInfo);
        UNIBUF_FIND(cuMemAlloc);
        UNIBUF_FIND(cuMemFree);
        UNIBUF_FIND(cuMemHostAlloc);
        UNIBUF_FIND(cuMemFreeHost);
        UNIBUF_FIND(cuMemHostRegister);
        UNIBUF_FIND(cuMemHostUnregister);
        UNIBUF_FIND(cuPointerGetAttribute);
        UNIBUF_FIND(cuMemHostGetDevicePointer);
        UNIBUF_FIND(cuMemcpyHtoDAsync);
        UNIBUF_FIND(cuMemcpyDtoHAsync);
        UNIBUF_FIND(cuMemcpyDtoDAsync);
        UNIBUF_FIND(cuMemcpyPeerAsync);
        UNIBUF_FIND(cuMemcpy2DAsync);
        UNIBUF_FIND(cuMemsetD8Async);
        UNIBUF_FIND(cuMemsetD16Async);
        UNIBUF_FIND(cuMemsetD32Async);
        UNIBUF_FIND(cuMemPoolCreate);
        UNIBUF_FIND(cuMemPoolSetAttribute);
        UNIBUF_FIND(cuMemPoolSetAccess);
        UNIBUF_FIND(cuMemPoolTrimTo);
        UNIBUF_FIND(cuMemAllocFromPoolAsync);
        UNIBUF_FIND(cuMemFreeAsync);
#undef UNIBUF_FIND
        find_newer("cuStreamGetCtx", table.cuStreamGetCtx_v2, 12050);
        find_newer("cuCtxRecordEvent", table.cuCtxRecordEvent, 12050);
        find_newer("cuMemcpyBatchAsync", table.cuMemcpyBatchAsync, 12080);
#define UNIBUF_FIND_OPTIONAL(name) find_newer(#name, table.name, oldest)
        UNIBUF_FIND_OPTIONAL(cuGLGetDevices);
        UNIBUF_FIND_OPTIONAL(cuGraphicsGLRegisterBuffer);
        UNIBUF_FIND_OPTIONAL(cuGraphicsUnregisterResource);
        UNIBUF_FIND_OPTIONAL(cuGraphicsMapResources);
        UNIBUF_FIND_OPTIONAL(cuGraphicsUnmapResources);
        UNIBUF_FIND_OPTIONAL(cuGraphicsResourceGetMappedPointer);
#undef UNIBUF_FIND_OPTIONAL
    }

    system::library driver_{{"libcuda.so.1"}};
    result (*get_)(const char*, void**, int, std::uint64_t, int*) = nullptr;
    loaded result_;
    std::string missing_;
};

// These are never destroyed: buffers, which call them, may go when static objects do.
const loaded& loaded_once() {
    static const loaded& once = *new loaded(loader().load());
    return once;
}

}  // namespace

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

const std::string& missing() { return loaded_once().missing; }

const functions& api() {
    if (!missing().empty()) throw error(error_code::device_unavailable, "CUDA: " + missing());
    return loaded_once().table;
}

}  // namespace unibuf::backends::cuda
