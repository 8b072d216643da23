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
};

gpu gpu_at(space where);

/// The one that was chosen, else "opengl:0"; after use_copy_fallback() the host, where that is not there. Throws
/// error(device_unavailable).
space chosen_gpu();
void choose_gpu(space where) noexcept;

/// The device of that name; of no name, the chosen one.
space gpu_named(std::string_view name);

bool copies_instead() noexcept;

}  // namespace unibuf::fortran
