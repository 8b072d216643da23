// bindings.hpp: which buffers the shaders of a thread use.
//
// OpenGL has one list of bindings in a context. Threads that bind and dispatch in turns would take each other's, so
// each has a list of its own. At a binding where a thread has never bound anything, what was bound last by any thread
// is meant.
#pragma once

#include <memory>
#include <unibuf/options.hpp>
#include <unibuf/space.hpp>

#include "gpu_holds.hpp"

namespace unibuf::fortran {

/// What a shader uses of a buffer; it goes when the buffer is not shown to the device any more.
struct bound_storage {
    bound_storage(const native_memory& bound, extent in_whole, access use, std::shared_ptr<gpu_holds> of)
        : copy(bound), part(in_whole), what(use), holds(std::move(of)) {}

    native_memory copy;
    extent part;  // in the whole buffer
    access what;
    std::shared_ptr<gpu_holds> holds;
};

void note_binding(space where, unsigned binding, const std::shared_ptr<const bound_storage>& bound);

/// Returns what this thread's shaders use at a binding, or null.
std::shared_ptr<const bound_storage> bound_at(space where, unsigned binding);

}  // namespace unibuf::fortran
