// system/loader.cpp: driver libraries, loaded at run time.
#include "system/loader.hpp"

#include <dlfcn.h>

namespace unibuf::system {

library::library(const std::vector<const char*>& names) {
    for (const char* name : names) {
        handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (handle_) return;
        why_ += (why_.empty() ? "" : "; ") + std::string(::dlerror());
    }
}

void* library::find(const char* name) const noexcept { return handle_ ? ::dlsym(handle_, name) : nullptr; }

}  // namespace unibuf::system
