// opengl_calls.hpp: the module's own calls of OpenGL: bindings and compute shaders.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unibuf/options.hpp>
#include <unibuf/space.hpp>
#include <vector>

namespace unibuf::fortran {

/// Binds a copy as shader storage buffer. Throws error(out_of_range) for a binding that the context does not have, and
/// error(unsupported) for a part that does not begin where the context lets bindings begin.
void bind_storage(const native_memory& copy, unsigned binding);

/// What a program gives to a uniform of a shader: laid out as type(shader_uniform).
struct uniform_value {
    enum type : int { integer, real, double_precision };

    char name[64];  // filled with blanks
    int what;
    std::int64_t bits;
};

/// A buffer's copy at a binding.
struct storage_at {
    unsigned binding;
    native_memory copy;
};

using group_counts = std::array<int, 3>;

/// A program of one compute shader.
class compute_shader {
public:
    /// Compiles the shader. Throws error(invalid_argument), with the compiler's log, where it does not compile.
    compute_shader(space where, std::string_view source);
    ~compute_shader();
    compute_shader(const compute_shader&) = delete;
    compute_shader& operator=(const compute_shader&) = delete;

    space where() const noexcept { return where_; }

    /// Returns the bindings that the shader uses.
    std::span<const unsigned> bindings() const noexcept { return bindings_; }

    /// Throws error(out_of_range) for more groups than the context does, and error(invalid_argument) for a uniform that
    /// the shader does not have, and where it uses a binding that is not in `bound`, and the program has bound nothing
    /// there by calls of OpenGL.
    void check(const group_counts& groups, std::span<const unsigned> bound,
               std::span<const uniform_value> uniforms) const;

    // These two queue the work, with no other thread's calls in between. Later work of the context sees what it writes.

    /// Binds `bound` first, where the program has not bound others by calls of OpenGL.
    void dispatch_bound(const group_counts& groups, std::span<const storage_at> bound,
                        std::span<const uniform_value> uniforms) const;

    /// Binds just these first.
    void dispatch_with(const group_counts& groups, std::span<const storage_at> buffers,
                       std::span<const uniform_value> uniforms) const;

private:
    void launch(const group_counts& groups, std::span<const uniform_value> uniforms) const;
    void find_bindings();

    /// Returns what sets a uniform. Throws error(invalid_argument) where the shader has no such uniform.
    std::function<void()> setter_of(const uniform_value& given) const;

    space where_;
    unsigned program_ = 0;
    std::vector<unsigned> bindings_;
};

}  // namespace unibuf::fortran
