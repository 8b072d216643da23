// unibuf/opengl.hpp: native handles of OpenGL spaces. Needs no OpenGL headers.
#pragma once

#include <cstdint>
#include <functional>

#include "unibuf/export.hpp"
#include "unibuf/options.hpp"
#include "unibuf/space.hpp"

namespace unibuf::opengl {

/// Runs `work` with the context of `where` current, and returns when it has returned: on the thread of that context for
/// "opengl:0", on this thread for one that the caller brought. Passes on what `work` throws.
///
/// `work` may use buffers, also such as other threads use: while it waits for those, it does the transfers that they
/// wait for. A lease that another thread holds while it calls run() is not waited for so: both would wait for ever.
UNIBUF_API void run(space where, const std::function<void()>& work);

/// Makes a space of the context that EGL has current on this thread (one of GLX is not seen). It is used on whatever
/// thread it is current, and accesses from other threads throw error(device_unavailable). It must stay alive as long as
/// buffers have copies there. Its state is left as it is, but for the error flag, which every access clears.
///
/// Where the process has all the spaces that it can have (max_spaces), spaces end whose context the program has
/// destroyed, and where no buffer has a copy: their numbers are given again, with other names. Throws
/// error(device_unavailable) without a current context, error(unsupported) below OpenGL 4.5, or where there is no
/// space left.
UNIBUF_API space use_current_context();

/// Returns whether the context of `where` is unibuf's own: nobody works there but through run().
UNIBUF_API bool is_own(space where);

/// Returns the one queue of `where`: its context, which does all work in order. Accesses that name it are ordered by
/// it, and do not stop the host; those that name none return when earlier work on their range is done.
UNIBUF_API queue queue_of(space where);

/// Returns an OpenGL function of the context of `where`, or null.
UNIBUF_API void* function(space where, const char* name);

/// Returns the buffer name of a copy, for glBindBufferRange and the like. The copy's first byte is at `copy.offset`
/// inside it.
UNIBUF_API std::uint32_t name(const native_memory& copy);

/// Returns the buffer name of a lease, whose first byte is at `lease.native().offset` inside it.
template <class Lease>
std::uint32_t name(const Lease& lease) {
    return name(lease.native());
}

}  // namespace unibuf::opengl
