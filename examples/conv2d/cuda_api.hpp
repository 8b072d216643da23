// conv2d/cuda_api.hpp: the part of the CUDA driver that the example calls, and of NVRTC, its compiler; found at run
// time, as unibuf finds the driver.
#pragma once

#include <cstddef>

#include "unibuf/cuda.hpp"

struct CUmod_st;
struct CUfunc_st;
struct nvrtc_program;

namespace conv2d::cu {

// These are declared as in <cuda.h> and <nvrtc.h>.
using context = CUctx_st*;
using stream = CUstream_st*;
using module = CUmod_st*;
using function = CUfunc_st*;
using device_pointer = unsigned long long;
using program = nvrtc_program*;
using status = int;

inline constexpr int compute_capability_major = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
inline constexpr int compute_capability_minor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
inline constexpr status nvrtc_invalid_option = 5;    // NVRTC_ERROR_INVALID_OPTION
inline constexpr unsigned stream_non_blocking = 1;   // CU_STREAM_NON_BLOCKING

/// The functions of the driver. It exports the newer forms of some under names of their own, which <cuda.h> hides.
struct driver_functions {
    status (*cuDriverGetVersion)(int*);
    status (*cuGetErrorName)(status, const char**);
    status (*cuDeviceGetAttribute)(int*, int, int);
    status (*cuCtxPushCurrent_v2)(context);
    status (*cuCtxPopCurrent_v2)(context*);
    status (*cuStreamCreate)(stream*, unsigned);
    status (*cuStreamDestroy_v2)(stream);
    status (*cuStreamSynchronize)(stream);
    status (*cuMemAlloc_v2)(device_pointer*, std::size_t);
    status (*cuMemFree_v2)(device_pointer);
    status (*cuMemcpyHtoDAsync_v2)(device_pointer, const void*, std::size_t, stream);
    status (*cuMemcpyDtoHAsync_v2)(void*, device_pointer, std::size_t, stream);
    status (*cuModuleLoadData)(module*, const void*);
    status (*cuModuleUnload)(module);
    status (*cuModuleGetFunction)(function*, module, const char*);
    status (*cuLaunchKernel)(function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, stream,
                             void**, void**);
};

struct compiler_functions {
    const char* (*nvrtcGetErrorString)(status);
    status (*nvrtcCreateProgram)(program*, const char*, const char*, int, const char* const*, const char* const*);
    status (*nvrtcDestroyProgram)(program*);
    status (*nvrtcCompileProgram)(program, int, const char* const*);
    status (*nvrtcGetProgramLogSize)(program, std::size_t*);
    status (*nvrtcGetProgramLog)(program, char*);
    status (*nvrtcGetPTXSize)(program, std::size_t*);
    status (*nvrtcGetPTX)(program, char*);
    status (*nvrtcGetCUBINSize)(program, std::size_t*);
    status (*nvrtcGetCUBIN)(program, char*);
    status (*nvrtcGetNumSupportedArchs)(int*);
    status (*nvrtcGetSupportedArchs)(int*);
};

/// Returns the functions. Throws std::runtime_error where one is missing.
const driver_functions& driver();

/// Returns the functions of NVRTC. Throws unibuf::error(unsupported), with the names that were tried, where there is
/// none: it comes with the toolkit, and a machine may have the driver alone.
const compiler_functions& compiler();

// Both throw std::runtime_error where `answer` is not success; `what` is what was asked.
void check(status answer, const char* what);
void check_compiler(status answer, const char* what);

}  // namespace conv2d::cu
