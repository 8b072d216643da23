// options.cpp: makes options of arguments.
#include "options.hpp"

#include <string>
#include <unibuf/error.hpp>

#include "gpu.hpp"

namespace unibuf::fortran {

namespace {

// Modes are the host's view of a buffer, and count from 1.
host_access host_access_of(int mode) {
    switch (mode) {
        case 1:
            return host_access::read_only;
        case 2:
            return host_access::write_only;
        case 3:
            return host_access::read_write;
        case 4:
            return host_access::constant;
        default:
            throw error(
                error_code::invalid_argument,
                "the access mode " + std::to_string(mode) +
                    " was given: BUFFER_READ_ONLY is 1, BUFFER_WRITE_ONLY 2, BUFFER_READ_WRITE 3, BUFFER_CONSTANT 4");
    }
}

memory_hint hint_of(int hint) {
    switch (hint) {
        case 1:
            return memory_hint::cpu_preferred;
        case 2:
            return memory_hint::gpu_preferred;
        case 3:
            return memory_hint::coherent;
        case 4:
            return memory_hint::streaming;
        default:
            throw error(error_code::invalid_argument,
                        "the memory hint " + std::to_string(hint) +
                            " was given: MEMORY_CPU_PREFERRED is 1, MEMORY_GPU_PREFERRED 2, MEMORY_COHERENT 3, "
                            "MEMORY_STREAMING 4");
    }
}

}  // namespace

access access_of(int what) {
    if (what >= 1 && what <= 3) return static_cast<access>(what);
    throw error(error_code::invalid_argument, "the access " + std::to_string(what) +
                                                  " was asked for: ACCESS_READ is 1, ACCESS_WRITE 2, "
                                                  "ACCESS_READ_WRITE 3");
}

std::size_t size_of(std::int64_t bytes) {
    if (bytes > 0) return static_cast<std::size_t>(bytes);
    throw error(error_code::invalid_argument,
                "a size of " + std::to_string(bytes) + " bytes was asked for: one byte is the least");
}

buffer_options options_of(const int* access, const int* hint, space where) {
    buffer_options options;
    if (access) options.access = host_access_of(*access);
    options.hint = hint ? hint_of(*hint) : memory_hint::coherent;
    if (copies_instead()) options.hint = memory_hint::gpu_preferred;
    options.device = where;
    return options;
}

std::chrono::nanoseconds timeout_of(const std::int64_t* nanoseconds) {
    if (!nanoseconds) return forever;
    if (*nanoseconds >= 0) return std::chrono::nanoseconds(*nanoseconds);
    throw error(error_code::invalid_argument,
                "a timeout of " + std::to_string(*nanoseconds) + " ns was given: 0 only looks, absent waits for ever");
}

}  // namespace unibuf::fortran
