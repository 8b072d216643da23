// backends/opengl/bindings.cpp: where a context has a buffer object bound.
#include "backends/opengl/bindings.hpp"

namespace unibuf::backends {
namespace {

struct target {
    unsigned name;
    unsigned binding;       // what glGetIntegerv calls its binding
    unsigned indexed_most;  // and the number of its indexed bindings; 0 where it has none
};

constexpr target targets[] = {
    {gl::array_buffer, gl::array_buffer_binding, 0},
    {gl::element_array_buffer, gl::element_array_buffer_binding, 0},
    {gl::pixel_pack_buffer, gl::pixel_pack_buffer_binding, 0},
    {gl::pixel_unpack_buffer, gl::pixel_unpack_buffer_binding, 0},
    {gl::copy_read_buffer, gl::copy_read_buffer, 0},
    {gl::copy_write_buffer, gl::copy_write_buffer, 0},
    {gl::draw_indirect_buffer, gl::draw_indirect_buffer_binding, 0},
    {gl::dispatch_indirect_buffer, gl::dispatch_indirect_buffer_binding, 0},
    {gl::query_buffer, gl::query_buffer_binding, 0},
    {gl::texture_buffer, gl::texture_buffer, 0},
    {gl::uniform_buffer, gl::uniform_buffer_binding, gl::max_uniform_buffer_bindings},
    {gl::atomic_counter_buffer, gl::atomic_counter_buffer_binding, gl::max_atomic_counter_buffer_bindings},
    {gl::shader_storage_buffer, gl::shader_storage_buffer_binding, gl::max_shader_storage_buffer_bindings},
};

unsigned number(const gl_api& gl, unsigned what) {
    int value = 0;
    gl.get_integer(what, &value);
    return static_cast<unsigned>(value);
}

}  // namespace

void unbind(const gl_api& gl, unsigned name) {
    for (const target& of : targets) {
        const unsigned bound = number(gl, of.binding);
        bool changed = bound == name;
        const unsigned count = of.indexed_most == 0 ? 0 : number(gl, of.indexed_most);
        for (unsigned i = 0; i < count; ++i) {
            int at_index = 0;
            gl.get_indexed_integer(of.binding, i, &at_index);
            if (static_cast<unsigned>(at_index) != name) continue;
            gl.bind_buffer_base(of.name, i, 0);
            changed = true;  // the plain binding is 0 now, too
        }
        if (changed) gl.bind_buffer(of.name, bound == name ? 0 : bound);
    }
}

}  // namespace unibuf::backends
