// conv2d/cuda_api.cpp: looks the functions up.
#include "cuda_api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "unibuf/error.hpp"

namespace conv2d::cu {
namespace {

constexpr const char* driver_name = "libcuda.so.1";

/// The libraries to try, the newest first. A driver takes nothing of a newer major version, and no PTX of a newer one.
struct {
    const char* name;
    int major;
} constexpr compilers[] = {{"libnvrtc.so.13", 13}, {"libnvrtc.so.12", 12}, {"libnvrtc.so.11.2", 11}};

template <class Function>
void find(void* library, const char* library_name, const char* name, Function& function) {
    void* const address = library ? ::dlsym(library, name) : nullptr;
    if (!address) throw std::runtime_error(fmt::format("{} has no {}", library_name, name));
    function = reinterpret_cast<Function>(address);
}

driver_functions load_driver() {
    void* const library = ::dlopen(driver_name, RTLD_NOW | RTLD_LOCAL);
    driver_functions found{};
    const auto look = [&](const char* name, auto& function) { find(library, driver_name, name, function); };
    look("cuDriverGetVersion", found.cuDriverGetVersion);
    look("cuGetErrorName", found.cuGetErrorName);
    look("cuDeviceGetAttribute", found.cuDeviceGetAttribute);
    look("cuCtxPushCurrent_v2", found.cuCtxPushCurrent_v2);
    look("cuCtxPopCurrent_v2", found.cuCtxPopCurrent_v2);
    look("cuStreamCreate", found.cuStreamCreate);
    look("cuStreamDestroy_v2", found.cuStreamDestroy_v2);
    look("cuStreamSynchronize", found.cuStreamSynchronize);
    look("cuMemAlloc_v2", found.cuMemAlloc_v2);
    look("cuMemFree_v2", found.cuMemFree_v2);
    look("cuMemcpyHtoDAsync_v2", found.cuMemcpyHtoDAsync_v2);
    look("cuMemcpyDtoHAsync_v2", found.cuMemcpyDtoHAsync_v2);
    look("cuModuleLoadData", found.cuModuleLoadData);
    look("cuModuleUnload", found.cuModuleUnload);
    look("cuModuleGetFunction", found.cuModuleGetFunction);
    look("cuLaunchKernel", found.cuLaunchKernel);
    return found;
}

compiler_functions load_compiler() {
    int version = 0;
    check(driver().cuDriverGetVersion(&version), "cuDriverGetVersion");
    void* library = nullptr;
    const char* library_name = nullptr;
    std::string tried;
    for (const auto& each : compilers) {
        if (each.major > version / 1000) continue;
        library_name = each.name;
        library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
        if (library) break;
        tried += fmt::format("{}{}", tried.empty() ? "" : ", ", each.name);
    }
    if (!library) {
        throw unibuf::error(unibuf::error_code::unsupported,
                            fmt::format("the CUDA kernel cannot be compiled: there is no NVRTC (tried {})", tried));
    }
    compiler_functions found{};
    const auto look = [&](const char* name, auto& function) { find(library, library_name, name, function); };
    look("nvrtcGetErrorString", found.nvrtcGetErrorString);
    look("nvrtcCreateProgram", found.nvrtcCreateProgram);
    look("nvrtcDestroyProgram", found.nvrtcDestroyProgram);
    look("nvrtcCompileProgram", found.nvrtcCompileProgram);
    look("nvrtcGetProgramLogSize", found.nvrtcGetProgramLogSize);
    look("nvrtcGetProgramLog", found.nvrtcGetProgramLog);
    look("nvrtcGetPTXSize", found.nvrtcGetPTXSize);
    look("nvrtcGetPTX", found.nvrtcGetPTX);
    look("nvrtcGetCUBINSize", found.nvrtcGetCUBINSize);
    look("nvrtcGetCUBIN", found.nvrtcGetCUBIN);
    look("nvrtcGetNumSupportedArchs", found.nvrtcGetNumSupportedArchs);
    look("nvrtcGetSupportedArchs", found.nvrtcGetSupportedArchs);
    return found;
}

}  // namespace

const driver_functions& driver() {
    static const driver_functions loaded = load_driver();
    return loaded;
}

const compiler_functions& compiler() {
    static const compiler_functions loaded = load_compiler();
    return loaded;
}

void check(status answer, const char* what) {
    if (answer == 0) return;
    const char* name = nullptr;
    driver().cuGetErrorName(answer, &name);
    throw std::runtime_error(fmt::format("{} failed: {}", what, name ? name : fmt::format("CUDA status {}", answer)));
}

void check_compiler(status answer, const char* what) {
    if (answer == 0) return;
    throw std::runtime_error(fmt::format("{} failed: {}", what, compiler().nvrtcGetErrorString(answer)));
}

}  // namespace conv2d::cu
