// conv2d/opengl_api.hpp: the part of OpenGL that the example calls, found at run time, as unibuf finds it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unibuf/space.hpp"

namespace conv2d::gl {

// These are declared as in <GL/glcorearb.h>.
inline constexpr unsigned shader_storage_buffer = 0x90D2;          // GL_SHADER_STORAGE_BUFFER
inline constexpr unsigned max_shader_storage_block_size = 0x90DE;  // GL_MAX_SHADER_STORAGE_BLOCK_SIZE
inline constexpr unsigned compute_shader = 0x91B9;                 // GL_COMPUTE_SHADER
inline constexpr unsigned link_status = 0x8B82;                    // GL_LINK_STATUS
inline constexpr unsigned dynamic_draw = 0x88E8;                   // GL_DYNAMIC_DRAW
inline constexpr unsigned dynamic_read = 0x88E9;                   // GL_DYNAMIC_READ
inline constexpr unsigned buffer_update_barrier = 0x0200;          // GL_BUFFER_UPDATE_BARRIER_BIT

/// These functions may be called where the context is current: inside unibuf::opengl::run.
struct functions {
    unsigned (*glGetError)();
    void (*glGetInteger64v)(unsigned, std::int64_t*);
    unsigned (*glCreateShaderProgramv)(unsigned, int, const char* const*);
    void (*glGetProgramiv)(unsigned, unsigned, int*);
    void (*glGetProgramInfoLog)(unsigned, int, int*, char*);
    void (*glDeleteProgram)(unsigned);
    void (*glUseProgram)(unsigned);
    void (*glDispatchCompute)(unsigned, unsigned, unsigned);
    void (*glMemoryBarrier)(unsigned);
    void (*glCreateBuffers)(int, unsigned*);
    void (*glDeleteBuffers)(int, const unsigned*);
    void (*glNamedBufferData)(unsigned, std::ptrdiff_t, const void*, unsigned);
    void (*glNamedBufferSubData)(unsigned, std::ptrdiff_t, std::ptrdiff_t, const void*);
    void (*glGetNamedBufferSubData)(unsigned, std::ptrdiff_t, std::ptrdiff_t, void*);
    void (*glBindBufferRange)(unsigned, unsigned, unsigned, std::ptrdiff_t, std::ptrdiff_t);
};

/// Finds the functions. Throws std::runtime_error where one is missing.
functions load(unibuf::space where);

/// Throws std::runtime_error where OpenGL's error flag is set; `what` is what was asked.
void check(const functions& gl, const char* what);

}  // namespace conv2d::gl
