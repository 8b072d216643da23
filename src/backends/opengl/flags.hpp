// backends/opengl/flags.hpp: the flags for memory that host and device share. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "unibuf/options.hpp"

namespace unibuf::backends {

enum class gl_vendor { amd, intel, nvidia, other };

/// The maker of the driver, and where the device's memory is.
struct gl_platform {
    gl_vendor vendor = gl_vendor::other;
    bool own_memory = true;  // false for software and for GPUs that work in the host's memory
    bool software = false;

    friend bool operator==(const gl_platform&, const gl_platform&) = default;
};

/// Tells the platform by the strings GL_VENDOR and GL_RENDERER.
gl_platform platform_of(std::string_view vendor, std::string_view renderer);

/// Returns the vendor named "amd", "intel", "nvidia" or "other".
std::optional<gl_vendor> vendor_named(std::string_view name);

struct gl_mapping {
    unsigned storage = 0;         // flags of glNamedBufferStorage
    unsigned map = 0;             // flags of glMapNamedBufferRange
    bool explicit_flush = false;  // host writes are announced by glFlushMappedNamedBufferRange
    std::string description;      // for people: "to write, write-combined, coherent"
};

/// Returns the mapping that suits the vendor. AMD writes uploads through write-combined memory, Intel is coherent
/// everywhere, NVIDIA is told which ranges the host wrote; a device's output is cached on the host. Drivers that are
/// not known get the coherent mapping.
gl_mapping mapping_for(gl_vendor vendor, host_access access, memory_hint hint);

}  // namespace unibuf::backends
