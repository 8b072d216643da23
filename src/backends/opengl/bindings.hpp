// backends/opengl/bindings.hpp: where a context has a buffer object bound.
#pragma once

#include "backends/opengl/api.hpp"

namespace unibuf::backends {

/// Takes a buffer object off the bindings of the context that is current here, as deleting it does. Only what other
/// objects are made of stays: vertex arrays, transform feedbacks and buffer textures.
void unbind(const gl_api& gl, unsigned name);

}  // namespace unibuf::backends
