// unibuf/state.hpp: which side of a buffer is newest.
#pragma once

#include <cstdint>
#include <string_view>

#include "unibuf/export.hpp"

namespace unibuf {

enum class buffer_state : std::uint8_t {
    uninitialized,  // no copy exists
    host_only,      // only a host copy exists, nothing written to it since it was allocated or last in step
    device_only,    // only device copies exist, nothing written to them since they were allocated or last in step
    synchronized,   // the host and at least one device copy are current everywhere
    host_dirty,     // the host was written and no device copy has all of it yet
    device_dirty,   // a device was written and the host lacks some of it
    mixed,          // each side holds bytes that the other does not
};

/// Returns "UNINITIALIZED", "HOST_ONLY", and so on.
UNIBUF_API std::string_view to_string(buffer_state state) noexcept;

}  // namespace unibuf
