// unibuf/metal.h: native handles of Metal spaces, for C and Objective-C. Needs no Metal headers; objects are passed as
// `(__bridge void*)`.
#pragma once

#include <unibuf/unibuf.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Writes the id<MTLDevice> and the id<MTLCommandQueue> that a space works with. Either pointer may be NULL. They live
/// as long as the process; those that the caller brought are retained. UNIBUF_INVALID_ARGUMENT where `where` is no
/// Metal space.
UNIBUF_C_API unibuf_status unibuf_metal_handles(unibuf_space where, void** device, void** queue);

/// Makes a space of the caller's own id<MTLDevice> and id<MTLCommandQueue>, which are retained. Without a queue it is
/// the first space of that device. UNIBUF_INVALID_ARGUMENT where they do not belong together.
UNIBUF_C_API unibuf_status unibuf_metal_use(void* device, void* queue, unibuf_space* where);

/// Tells unibuf of an id<MTLCommandQueue> of the caller's: accesses that name no queue wait for the work on it.
UNIBUF_C_API unibuf_status unibuf_metal_add_queue(unibuf_space where, void* queue);

/// Returns an id<MTLCommandQueue> of the space's device as the queue that a lease's work is on.
UNIBUF_C_API unibuf_queue unibuf_metal_queue(void* queue);

/// Writes the id<MTLBuffer> of a copy. The copy's first byte is at `copy->offset` inside it.
UNIBUF_C_API unibuf_status unibuf_metal_buffer(const unibuf_native* copy, void** buffer);

#ifdef __cplusplus
}
#endif
