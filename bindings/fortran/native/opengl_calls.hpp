// opengl_calls.hpp: the module's own calls of OpenGL: bindings and compute shaders.
#pragma once

#include <array>
#include <string_view>
#include <unibuf/options.hpp>
#include <unibuf/space.hpp>

namespace unibuf::fortran {

/// Binds a copy as shader storage buffer. Throws error(out_of_range) for a binding that the context does not have, and
/// error(unsupported) for a part that does not begin where the context lets bindings begin.
void bind_storage(const native_memory& copy, unsigned binding);

/// A program of one compute shader.
class compute_shader {
public:
    /// Compiles the shader. Throws error(invalid_argument), with the compiler's log, where it does not compile.
    compute_shader(space where, std::string_view source);
    ~compute_shader();
    compute_shader(const compute_shader&) = delete;
    compute_shader& operator=(const compute_shader&) = delete;

    /// Queues the work, whose writes later work of the context sees.
    void dispatch(const std::array<int, 3>& groups) const;

private:
    space where_;
    unsigned program_ = 0;
};

}  // namespace unibuf::fortran
