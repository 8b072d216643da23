// backends/opengl/api.cpp: the functions by name.
#include "backends/opengl/api.hpp"

namespace unibuf::backends {

namespace {

struct finder {
    void* (*find)(const char* name);
    std::string missing;

    template <class Function>
    void operator()(const char* name, Function*& function) {
        function = reinterpret_cast<Function*>(find(name));
        if (!function) missing += (missing.empty() ? "" : ", ") + std::string(name);
    }
};

}  // namespace

std::string gl_api::load(void* (*find)(const char* name)) {
    finder get{find, {}};
    get("glGetError", get_error);
    get("glGetGraphicsResetStatus", get_graphics_reset_status);
    get("glGetString", get_string);
    get("glGetIntegerv", get_integer);
    get("glGetIntegeri_v", get_indexed_integer);
    get("glPixelStorei", pixel_store);
    get("glCreateBuffers", create_buffers);
    get("glDeleteBuffers", delete_buffers);
    get("glIsBuffer", is_buffer);
    get("glBindBuffer", bind_buffer);
    get("glBindBufferBase", bind_buffer_base);
    get("glNamedBufferStorage", buffer_storage);
    get("glNamedBufferSubData", buffer_sub_data);
    get("glGetNamedBufferSubData", get_buffer_sub_data);
    get("glClearNamedBufferSubData", clear_buffer_sub_data);
    get("glCopyNamedBufferSubData", copy_buffer_sub_data);
    get("glMapNamedBufferRange", map_buffer_range);
    get("glFlushMappedNamedBufferRange", flush_mapped_buffer_range);
    get("glMemoryBarrier", memory_barrier);
    get("glFenceSync", fence_sync);
    get("glClientWaitSync", client_wait_sync);
    get("glDeleteSync", delete_sync);
    get("glObjectLabel", object_label);
    get("glGetObjectLabel", get_object_label);
    return get.missing;
}

}  // namespace unibuf::backends
