// conv2d/opengl_api.cpp: looks the functions up.
#include "opengl_api.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "unibuf/opengl.hpp"

namespace conv2d::gl {
namespace {

template <class Function>
void find(unibuf::space where, const char* name, Function& function) {
    void* const address = unibuf::opengl::function(where, name);
    if (!address) throw std::runtime_error(fmt::format("{} has no {}", where.name(), name));
    function = reinterpret_cast<Function>(address);
}

}  // namespace

functions load(unibuf::space where) {
    functions found{};
    find(where, "glGetError", found.glGetError);
    find(where, "glGetInteger64v", found.glGetInteger64v);
    find(where, "glCreateShaderProgramv", found.glCreateShaderProgramv);
    find(where, "glGetProgramiv", found.glGetProgramiv);
    find(where, "glGetProgramInfoLog", found.glGetProgramInfoLog);
    find(where, "glDeleteProgram", found.glDeleteProgram);
    find(where, "glUseProgram", found.glUseProgram);
    find(where, "glDispatchCompute", found.glDispatchCompute);
    find(where, "glMemoryBarrier", found.glMemoryBarrier);
    find(where, "glCreateBuffers", found.glCreateBuffers);
    find(where, "glDeleteBuffers", found.glDeleteBuffers);
    find(where, "glNamedBufferData", found.glNamedBufferData);
    find(where, "glNamedBufferSubData", found.glNamedBufferSubData);
    find(where, "glGetNamedBufferSubData", found.glGetNamedBufferSubData);
    find(where, "glBindBufferRange", found.glBindBufferRange);
    return found;
}

void check(const functions& gl, const char* what) {
    const unsigned flag = gl.glGetError();
    if (flag != 0) throw std::runtime_error(fmt::format("{} failed: OpenGL error {:#06x}", what, flag));
}

}  // namespace conv2d::gl
