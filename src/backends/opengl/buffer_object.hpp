// backends/opengl/buffer_object.hpp: the buffer object behind a memory, for APIs that can use it in place.
#pragma once

#include <memory>
#include <optional>

#include "backends/backend.hpp"
#include "backends/opengl/context.hpp"

namespace unibuf::backends {

struct gl_buffer_object {
    std::shared_ptr<gl_context> context;  // jobs of this context may use the buffer object
    unsigned name = 0;
};

/// Returns the buffer object behind `of`, good as long as `of` lives; nothing where that is no memory of OpenGL.
std::optional<gl_buffer_object> buffer_object_of(const memory& of);

}  // namespace unibuf::backends
