// doubles/metal/loaded.hpp: for test programs: the double in the place of Metal. On macOS the real one stays; what
// needs the double is skipped then.
#pragma once

#include <dlfcn.h>

#include "doubles/metal/control.hpp"

namespace metal_double {

/// Null where Metal is the real one.
inline const control* loaded() {
#ifdef UNIBUF_METAL_DOUBLE
    static void* const once = ::dlopen(UNIBUF_METAL_DOUBLE, RTLD_NOW | RTLD_LOCAL);
    return once ? reinterpret_cast<get_control*>(::dlsym(once, control_name))() : nullptr;
#else
    return nullptr;
#endif
}

/// The double takes the name before the tests begin: who asks for libMetal.so later gets it.
inline const bool taken = loaded() != nullptr;

}  // namespace metal_double
