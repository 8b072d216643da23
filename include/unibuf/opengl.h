// unibuf/opengl.h: native handles of OpenGL spaces, for C. Needs no OpenGL headers.
#pragma once

#include <unibuf/unibuf.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Calls `work(argument)` with the context of `where` current, and returns when it has returned: on the thread of that
/// context for "opengl:0", on this thread for one that the caller brought. `work` must not throw.
UNIBUF_C_API unibuf_status unibuf_opengl_run(unibuf_space where, void (*work)(void* argument), void* argument);

/// Makes a space of the context that EGL has current on this thread. It must stay alive as long as buffers have copies
/// there. UNIBUF_DEVICE_UNAVAILABLE without one, UNIBUF_UNSUPPORTED below OpenGL 4.5.
UNIBUF_C_API unibuf_status unibuf_opengl_use_current_context(unibuf_space* where);

/// Writes the one queue of `where`: its context, which does all work in order. Accesses that name it do not stop the
/// host.
UNIBUF_C_API unibuf_status unibuf_opengl_queue(unibuf_space where, unibuf_queue* queue);

/// Writes an OpenGL function of the context of `where`; NULL where the context has none of that name.
UNIBUF_C_API unibuf_status unibuf_opengl_function(unibuf_space where, const char* name, void** function);

/// Writes the buffer name of a copy, for glBindBufferRange and the like. The copy's first byte is at `copy->offset`
/// inside it.
UNIBUF_C_API unibuf_status unibuf_opengl_name(const unibuf_native* copy, uint32_t* name);

#ifdef __cplusplus
}
#endif
