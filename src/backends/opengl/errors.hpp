// backends/opengl/errors.hpp: OpenGL's error flag, as errors of unibuf.
#pragma once

#include <string>

#include "backends/opengl/api.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {

/// Clears what earlier work of others left in the flag, so that what is found there next is ours.
void forget_errors(const gl_api& gl);

/// Throws where the flag is set: out_of_memory, device_lost, or `otherwise`. `what` names what was asked.
void check_errors(const gl_api& gl, const std::string& what, error_code otherwise = error_code::transfer_failed);

/// Returns the error for a call that failed without saying why: device_lost if the device is lost.
error failure_of(const gl_api& gl, const std::string& what);

}  // namespace unibuf::backends
