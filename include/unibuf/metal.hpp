// unibuf/metal.hpp: native handles of Metal spaces. Needs no Objective-C; works with metal-cpp, whose pointers these
// are, and from Objective-C++, where `(__bridge id<MTLBuffer>)` makes objects of them.
#pragma once

#include "unibuf/export.hpp"
#include "unibuf/options.hpp"
#include "unibuf/space.hpp"

namespace unibuf::metal {

/// The objects that a Metal space works with. The caller may use both. They live as long as the process; those that the
/// caller brought are retained.
struct handles {
    void* device = nullptr;  // id<MTLDevice>
    void* queue = nullptr;   // id<MTLCommandQueue>
};

/// Returns the objects of `where`. Throws error(invalid_argument) where it is no Metal space.
UNIBUF_API handles handles_of(space where);

/// Returns the space of the caller's own id<MTLDevice> and id<MTLCommandQueue>, which are retained; makes it, where it
/// is not there yet. Without a queue it is the first one of that device. Throws error(invalid_argument) where they do
/// not belong together.
UNIBUF_API space use(void* device, void* command_queue = nullptr);

/// Tells unibuf of an id<MTLCommandQueue> of the caller's own, which is retained as long as the process lives. Metal
/// does not say which queues there are: an access that names no queue waits only for work on the space's own queue, and
/// on queues that a lease or this function has named before; and it waits for all of those, so commit what you have
/// enqueued there. Throws error(invalid_argument).
UNIBUF_API void add_queue(space where, void* command_queue);

/// Returns an id<MTLCommandQueue> of the space's device as the queue that a lease's work is on. That work is what is
/// committed before the lease ends. A lease may need two command buffers of the queue, which Metal gives when fewer
/// than its maximum (64) are uncompleted: do not hold all of them.
inline queue queue_of(void* command_queue) noexcept { return {command_queue}; }

/// Returns the id<MTLBuffer> of a copy. The copy's first byte is at `copy.offset` inside it.
UNIBUF_API void* memory(const native_memory& copy);

/// Returns the id<MTLBuffer> of a lease, whose first byte is at `lease.native().offset` inside it.
template <class Lease>
void* memory(const Lease& lease) {
    return memory(lease.native());
}

}  // namespace unibuf::metal
