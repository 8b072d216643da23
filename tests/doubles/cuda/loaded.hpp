// tests/doubles/cuda/loaded.hpp: for test programs: the double in the place of the machine's driver, and its functions.
//
// With UNIBUF_REAL_CUDA=1 the machine's own driver stays; what needs the double is skipped then.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "doubles/cuda/control.hpp"

namespace cuda_double {

inline bool wants_real_driver() {
    const char* const chosen = std::getenv("UNIBUF_REAL_CUDA");
    return chosen && *chosen == '1';
}

/// Loaded before anybody asks for libcuda.so.1: the name is then taken.
inline void* driver_library() {
    static void* const once =
        ::dlopen(wants_real_driver() ? "libcuda.so.1" : UNIBUF_CUDA_DOUBLE, RTLD_NOW | RTLD_LOCAL);
    return once;
}

/// Null where the driver is a real one.
inline const control* loaded() {
    if (wants_real_driver() || !driver_library()) return nullptr;
    return reinterpret_cast<get_control*>(::dlsym(driver_library(), control_name))();
}

/// A function of the driver, real or not, in the form that `version` had.
template <class Function>
Function* driver_function(const char* name, int version = 12000) {
    using get = unibuf::backends::cuda::result(const char*, void**, int, std::uint64_t, int*);
    auto* const find = reinterpret_cast<get*>(::dlsym(driver_library(), "cuGetProcAddress_v2"));
    void* found = nullptr;
    int status = 0;
    if (find(name, &found, version, 0, &status) != 0 || !found) throw std::runtime_error(std::string("no ") + name);
    return reinterpret_cast<Function*>(found);
}

/// The double takes the name before the tests begin.
inline const bool taken = driver_library() != nullptr;

}  // namespace cuda_double
