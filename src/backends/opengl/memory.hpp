// backends/opengl/memory.hpp: buffer objects.
#pragma once

#include <memory>

#include "backends/backend.hpp"
#include "backends/opengl/context.hpp"
#include "backends/opengl/flags.hpp"
#include "backends/opengl/kept_buffers.hpp"

namespace unibuf::backends {

// Each takes a buffer object that was kept, where there is one, and keeps its own in the end; where `kept` is null, it
// is deleted.

/// Makes memory that the host does not address. Throws error(out_of_memory).
std::unique_ptr<memory> make_gl_memory(const std::shared_ptr<gl_context>& context,
                                       const std::shared_ptr<kept_buffers>& kept, std::size_t bytes);

/// Makes memory that stays mapped as `how` says. Throws error(out_of_memory), error(unsupported) where it cannot be
/// mapped.
std::unique_ptr<memory> make_mapped_gl_memory(const std::shared_ptr<gl_context>& context,
                                              const std::shared_ptr<kept_buffers>& kept, std::size_t bytes,
                                              const gl_mapping& how);

}  // namespace unibuf::backends
