// unibuf/opencl.h: native handles of OpenCL spaces, for C. Needs no OpenCL headers, and works with them.
#pragma once

#include <unibuf/unibuf.h>

#ifdef __cplusplus
extern "C" {
#endif

struct _cl_context;        // cl_context points to it
struct _cl_device_id;      // cl_device_id points to it
struct _cl_command_queue;  // cl_command_queue points to it
struct _cl_mem;            // cl_mem points to it

/// Writes the context, the device and the in-order queue that a space works with. Any of the pointers may be NULL. They
/// live as long as the process; those that the caller brought are retained. UNIBUF_INVALID_ARGUMENT where `where` is no
/// OpenCL space.
UNIBUF_C_API unibuf_status unibuf_opencl_handles(unibuf_space where, struct _cl_context** context,
                                                 struct _cl_device_id** device, struct _cl_command_queue** queue);

/// Makes a space of the caller's own context, device and queue, which are retained; where the queue is out of order,
/// the space makes one of its own, and knows this one, too. UNIBUF_INVALID_ARGUMENT where they do not belong together.
/// Where the process has 32 spaces, those end whose context and queues the program has released, and where no buffer
/// has a copy, and their numbers are given again; UNIBUF_UNSUPPORTED where there is none.
UNIBUF_C_API unibuf_status unibuf_opencl_use(struct _cl_context* context, struct _cl_device_id* device,
                                             struct _cl_command_queue* queue, unibuf_space* where);

/// Tells unibuf of a queue of the caller's: accesses that name no queue wait for the work on it.
UNIBUF_C_API unibuf_status unibuf_opencl_add_queue(unibuf_space where, struct _cl_command_queue* queue);

/// Returns a queue of the space's context as the queue that a lease's work is on. It may be out of order: what the
/// lease brings, and waits for, comes before all that is put on it from then on, by a barrier; its end is a marker.
UNIBUF_C_API unibuf_queue unibuf_opencl_queue(struct _cl_command_queue* queue);

/// Writes the cl_mem of a copy. The copy's first byte is at `copy->offset` inside it.
UNIBUF_C_API unibuf_status unibuf_opencl_memory(const unibuf_native* copy, struct _cl_mem** memory);

#ifdef __cplusplus
}
#endif
