// unibuf/opencl.hpp: native handles of OpenCL spaces. Needs no OpenCL headers, and works with them.
#pragma once

#include <cstdint>

#include "unibuf/export.hpp"
#include "unibuf/options.hpp"
#include "unibuf/space.hpp"

// The types behind cl_context, cl_device_id, cl_command_queue, cl_mem, as <CL/cl.h> declares them.
struct _cl_context;
struct _cl_device_id;
struct _cl_command_queue;
struct _cl_mem;

namespace unibuf::opencl {

/// The native handles that an OpenCL space works with. The caller may use all three; the queue is in order. They live
/// as long as the process; those that the caller brought are retained.
struct handles {
    _cl_context* context = nullptr;
    _cl_device_id* device = nullptr;
    _cl_command_queue* queue = nullptr;
};

/// Returns the native handles of `where`. Throws error(invalid_argument) where it is no OpenCL space.
UNIBUF_API handles handles_of(space where);

/// Makes a space of the caller's own context, device and in-order queue, which are retained. Throws
/// error(invalid_argument) where they do not belong together or the queue is out of order.
UNIBUF_API space use(_cl_context* context, _cl_device_id* device, _cl_command_queue* queue);

/// Tells unibuf of a queue of the caller's own, in order and of the space's context. OpenCL does not say which queues
/// there are: an access that names no queue waits only for work on the space's own queue, and on queues that a lease or
/// this function has named before. Throws error(invalid_argument).
UNIBUF_API void add_queue(space where, _cl_command_queue* native);

/// Returns an in-order queue of the space's context as the queue that a lease's work is on.
inline queue queue_of(_cl_command_queue* native) noexcept { return {native}; }

/// Returns the cl_mem of a copy. The copy's first byte is at `copy.offset` inside it.
UNIBUF_API _cl_mem* memory(const native_memory& copy);

/// Returns the cl_mem of a lease, whose first byte is at `lease.native().offset` inside it.
template <class Lease>
_cl_mem* memory(const Lease& lease) {
    return memory(lease.native());
}

}  // namespace unibuf::opencl
