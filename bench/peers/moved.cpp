// peers/moved.cpp
#include "moved.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace peers {
namespace {

using counter = void (*)(std::uint64_t* copied, std::uint64_t* mapped);

counter found() {
    static const counter in_layer = [] {
        const char* const path = std::getenv("OPENCL_LAYERS");
        void* const layer = path ? ::dlopen(path, RTLD_NOW) : nullptr;
        return layer ? reinterpret_cast<counter>(::dlsym(layer, "unibuf_peers_moved")) : nullptr;
    }();
    return in_layer;
}

}  // namespace

bool is_counting() { return found() != nullptr; }

traffic moved() {
    traffic result;
    if (const counter in_layer = found()) in_layer(&result.copied, &result.mapped);
    return result;
}

}  // namespace peers
