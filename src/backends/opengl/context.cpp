// backends/opengl/context.cpp: asks a context for its functions and its name.
#include "backends/opengl/context.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "backends/opengl/egl.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {

namespace {

std::string text(const gl_api& gl, unsigned name) {
    const auto* value = gl.get_string(name);
    return value ? reinterpret_cast<const char*>(value) : "";
}

}  // namespace

void gl_context::check_queue(queue on) const {
    if (!on || on.native == this) return;
    throw error(error_code::invalid_argument, "the only queue of an OpenGL space is its context: opengl::queue_of");
}

std::string gl_context::load() {
    const std::string missing = gl_.load(&egl::function);
    if (!missing.empty()) return "its driver lacks " + missing;

    const std::string version = text(gl_, gl::version);
    int major = 0;
    int minor = 0;
    gl_.get_integer(gl::major_version, &major);
    gl_.get_integer(gl::minor_version, &minor);
    if (major * 10 + minor < 45 || version.starts_with("OpenGL ES")) {
        return fmt::format("OpenGL 4.5 is needed, and it has {}", version);
    }
    const std::string renderer = text(gl_, gl::renderer);
    platform_ = platform_of(text(gl_, gl::vendor), renderer);
    if (const char* const named = std::getenv("UNIBUF_OPENGL_VENDOR")) {
        const auto vendor = vendor_named(named);
        if (!vendor) return fmt::format("UNIBUF_OPENGL_VENDOR is '{}': it is amd, intel, nvidia or other", named);
        platform_.vendor = *vendor;
    }
    description_ = fmt::format("{}, OpenGL {}", renderer, version);
    return {};
}

}  // namespace unibuf::backends
