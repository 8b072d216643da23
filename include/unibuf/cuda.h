// unibuf/cuda.h: native handles of CUDA spaces, for C. Needs no CUDA headers, and works with them.
#pragma once

#include <unibuf/unibuf.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUctx_st;     // CUcontext points to it
struct CUstream_st;  // CUstream and cudaStream_t point to it

/// Writes the device's ordinal, and its primary context. Either pointer may be NULL. UNIBUF_INVALID_ARGUMENT where
/// `where` is no CUDA space.
UNIBUF_C_API unibuf_status unibuf_cuda_handles(unibuf_space where, int* ordinal, struct CUctx_st** context);

/// Returns a stream of the space's primary context as the queue that a lease's work is on; NULL is the legacy default
/// stream.
UNIBUF_C_API unibuf_queue unibuf_cuda_queue(struct CUstream_st* stream);

/// Says that the program works at `where` on these streams alone, until they are named anew, for as long as which they
/// live; none: on any. Accesses that name no stream are ordered after these, in the place of all work of the context.
/// NULL among them is the legacy default stream. UNIBUF_INVALID_ARGUMENT for a stream of another context and for the
/// per-thread default stream, UNIBUF_UNSUPPORTED for one that is being captured.
UNIBUF_C_API unibuf_status unibuf_cuda_use_streams(unibuf_space where, struct CUstream_st* const* streams,
                                                   size_t count);

/// Writes the CUdeviceptr of the first byte of a copy.
UNIBUF_C_API unibuf_status unibuf_cuda_pointer(const unibuf_native* copy, unsigned long long* pointer);

/// Writes how much host memory unibuf keeps pinned, also for buffers to come until unibuf_trim_memory, and the most
/// that it may, in bytes: half of what the process may have, until a limit is set.
UNIBUF_C_API void unibuf_cuda_pinned_memory(uint64_t* held, uint64_t* limit);
UNIBUF_C_API void unibuf_cuda_limit_pinned_memory(uint64_t bytes);

#ifdef __cplusplus
}
#endif
