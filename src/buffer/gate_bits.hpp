// buffer/gate_bits.hpp: what the gate of a buffer may say. Pure.
//
// A bit is set only where taking and ending that access changes nothing in the core, and waits for nobody.
#pragma once

#include <cstdint>

#include "coherence/directory.hpp"
#include "unibuf/detail/gate.hpp"
#include "unibuf/options.hpp"

namespace unibuf::detail {

/// What the bits are a function of.
struct gate_view {
    coherence::summary known;  // of all bytes
    host_access allowed = host_access::read_write;
    bool busy = false;                   // leases by the lock, accesses under way, or queued work
    bool host_written_for_good = false;  // pointers through which the host is written are out, of all bytes
    bool host_shown = false;             // pointers to the host's copy for reading are out
    std::uint8_t device = no_space;      // the default device as copies are numbered; no_space where it has no copy
    bool device_waits = false;           // work of that device is asynchronous
    bool handle_is_out = false;          // a plain handle of that device's copy is out
};

struct gate_bits {
    std::uint32_t ready = 0;
    bool device_ready = false;  // a plain handle of all bytes can be given out again

    friend bool operator==(const gate_bits&, const gate_bits&) = default;
};

gate_bits bits_of(const gate_view& view) noexcept;

}  // namespace unibuf::detail
