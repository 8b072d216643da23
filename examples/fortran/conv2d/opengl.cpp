// fortran/conv2d/opengl.cpp: buffer objects as programs of today use them, for opengl.f90.
#include "unibuf/opengl.hpp"

#include <cstddef>
#include <cstdint>

#include "conv2d/opengl_api.hpp"
#include "ending.hpp"

namespace {

namespace gl = conv2d::gl;

unibuf::space where() { return unibuf::space("opengl:0"); }

/// Does `work` on the context's thread.
template <class Work>
void call(const char* what, const Work& work) {
    examples::or_end([&] {
        static const gl::functions functions = gl::load(where());
        unibuf::opengl::run(where(), [&] {
            work(functions);
            gl::check(functions, what);
        });
    });
}

}  // namespace

extern "C" {

unsigned example_gl_create_buffer() {
    unsigned name = 0;
    call("glCreateBuffers", [&](const gl::functions& on) { on.glCreateBuffers(1, &name); });
    return name;
}

void example_gl_delete_buffer(unsigned name) {
    call("glDeleteBuffers", [&](const gl::functions& on) { on.glDeleteBuffers(1, &name); });
}

/// Gives a buffer its data. Where `data` is null, the buffer just has room.
void example_gl_buffer_data(unsigned name, std::int64_t bytes, const void* data) {
    const unsigned usage = data ? gl::dynamic_draw : gl::dynamic_read;
    call("glNamedBufferData", [&](const gl::functions& on) { on.glNamedBufferData(name, bytes, data, usage); });
}

void example_gl_bind_buffer(unsigned name, unsigned binding, std::int64_t bytes) {
    call("glBindBufferRange",
         [&](const gl::functions& on) { on.glBindBufferRange(gl::shader_storage_buffer, binding, name, 0, bytes); });
}

void example_gl_get_buffer_sub_data(unsigned name, std::int64_t bytes, void* data) {
    call("glGetNamedBufferSubData", [&](const gl::functions& on) {
        on.glMemoryBarrier(gl::buffer_update_barrier);
        on.glGetNamedBufferSubData(name, 0, bytes, data);
    });
}

}  // extern "C"
