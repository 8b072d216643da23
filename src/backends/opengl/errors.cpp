// backends/opengl/errors.cpp: names OpenGL's errors, and makes errors of unibuf of them.
#include "backends/opengl/errors.hpp"

#include <fmt/format.h>

namespace unibuf::backends {

namespace {

std::string name_of(unsigned code) {
    switch (code) {
        case gl::invalid_enum:
            return "GL_INVALID_ENUM";
        case gl::invalid_value:
            return "GL_INVALID_VALUE";
        case gl::invalid_operation:
            return "GL_INVALID_OPERATION";
        case gl::out_of_memory:
            return "GL_OUT_OF_MEMORY";
        case gl::context_lost:
            return "GL_CONTEXT_LOST";
        default:
            return fmt::format("OpenGL error {:#x}", code);
    }
}

}  // namespace

void forget_errors(const gl_api& gl) {
    // A lost context reports without end.
    for (int count = 0; count < 16 && gl.get_error() != gl::no_error; ++count) {
    }
}

void check_errors(const gl_api& gl, const std::string& what, error_code otherwise) {
    const unsigned code = gl.get_error();
    if (code == gl::no_error) return;
    if (code == gl::out_of_memory) otherwise = error_code::out_of_memory;
    if (code == gl::context_lost) otherwise = error_code::device_lost;
    throw error(otherwise, fmt::format("{}: {}", what, name_of(code)));
}

error failure_of(const gl_api& gl, const std::string& what) {
    if (gl.get_graphics_reset_status() != gl::no_error) {
        return {error_code::device_lost, what + ": the device was reset"};
    }
    return {error_code::transfer_failed, what};
}

}  // namespace unibuf::backends
