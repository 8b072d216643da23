// unibuf/cuda.hpp: native handles of CUDA spaces. Needs no CUDA headers, and works with them.
#pragma once

#include <cstdint>
#include <span>

#include "unibuf/export.hpp"
#include "unibuf/lease.hpp"
#include "unibuf/options.hpp"
#include "unibuf/space.hpp"

// The types behind CUcontext and CUstream (cudaStream_t), as <cuda.h> declares them.
struct CUctx_st;
struct CUstream_st;

namespace unibuf::cuda {

/// The native handles that a CUDA space works with. The context is the device's primary context: the one that the CUDA
/// runtime, CuPy, torch and cuBLAS use, so memory and streams may go back and forth.
struct handles {
    int ordinal = 0;  // CUdevice, as cudaSetDevice takes it
    CUctx_st* context = nullptr;
};

/// Returns the native handles of `where`. Throws error(invalid_argument) where it is no CUDA space.
UNIBUF_API handles handles_of(space where);

/// Returns a stream of the space's primary context as the queue that a lease's work is on. The legacy default stream
/// (null) and the per-thread default stream ((CUstream)2) are streams like any other; a lease on the latter ends on the
/// thread that took it. So are streams of the device's green contexts, where the driver is of CUDA 12.5 or newer. A
/// stream lives until the leases that name it have ended: a driver does not tell, and may crash, when it is asked about
/// one that was destroyed. While a stream of the context is being captured, accesses name another one: one that names
/// none asks for a fence of the whole context, which the driver refuses then, and which breaks the capture. Nothing
/// else that unibuf does disturbs captures, but for an allocation that finds no room.
inline queue queue_of(CUstream_st* stream) noexcept {
    return {stream ? static_cast<void*>(stream) : reinterpret_cast<void*>(std::uintptr_t{1})};  // CU_STREAM_LEGACY
}

/// Says that the program works at `where` on these streams alone, until they are named anew; none: on any, as in the
/// beginning. An access that names no stream, and record_fence without a queue, are then ordered after these, in the
/// place of all work of the context: that costs an event for each, waits for no other stream and breaks no capture of
/// others. Null is the legacy default stream, which comes after all streams that are not non-blocking. While one of the
/// streams is being captured, accesses that name none throw error(unsupported). The streams live until they are named
/// anew. The call itself orders what comes after the work of before: of the whole context, where no streams were named.
///
/// Throws error(invalid_argument) where `where` is no CUDA space, for a stream of another context, and for the
/// per-thread default stream, and error(unsupported) for a stream that is being captured; then nothing has changed.
UNIBUF_API void use_streams(space where, std::span<CUstream_st* const> all);

/// Returns the first byte of a copy at a CUDA space.
template <class T = void>
T* pointer(const native_memory& copy) noexcept {
    return copy.as<T>();
}

/// Returns the first byte of a lease at a CUDA space.
template <class T>
T* pointer(const lease<T>& held) {
    return held.native().template as<T>();
}

/// The host memory that unibuf keeps pinned, for pinned buffers, for those that share it with a device, and, until
/// trim_memory(host), for those to come; and the most that it may, in bytes: half of the memory that the process may
/// have, of the machine and of its cgroup, until a limit is set. A new limit leaves pinned what is pinned already.
struct pinned_info {
    std::uint64_t held = 0;
    std::uint64_t limit = 0;
};
UNIBUF_API pinned_info pinned_memory() noexcept;
UNIBUF_API void limit_pinned_memory(std::uint64_t bytes) noexcept;

}  // namespace unibuf::cuda
