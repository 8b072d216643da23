// gpu.hpp: which device "the GPU" of the Fortran modules is.
#pragma once

#include <string_view>
#include <unibuf/options.hpp>
#include <unibuf/space.hpp>

namespace unibuf::fortran {

/// A device, and the queue that its work is on where its API has but one.
struct gpu {
    space where;
    queue on = {};

    bool has_shaders() const;
    bool has_own_context() const;  // of OpenGL, where only unibuf runs shaders
};

gpu gpu_at(space where);

/// Returns the device that was chosen, else "opengl:0". After use_copy_fallback() that is the host where "opengl:0" is
/// not there. Throws error(device_unavailable).
space chosen_gpu();
void choose_gpu(space where) noexcept;

/// Returns the device of that name; for no name, the chosen one.
space gpu_named(std::string_view name);

bool copies_instead() noexcept;

}  // namespace unibuf::fortran
