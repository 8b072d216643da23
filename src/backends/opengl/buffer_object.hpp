// backends/opengl/buffer_object.hpp: which buffer object a memory is, for APIs that can use it in place.
#pragma once

#include <memory>
#include <optional>

#include "backends/backend.hpp"
#include "backends/opengl/context.hpp"

namespace unibuf::backends {

struct gl_buffer_object {
    std::shared_ptr<gl_context> context;  // whose jobs may use it
    unsigned name = 0;
};

/// The buffer object behind `of`, for as long as that lives; nothing where that is no memory of OpenGL.
std::optional<gl_buffer_object> buffer_object_of(const memory& of);

}  // namespace unibuf::backends
