// buffer/gate_bits.hpp: the rules of what the gate of a buffer may say. Pure.
//
// A bit is set only where taking and ending the access that it stands for changes nothing in the core, and waits for
// nobody.
#pragma once

#include <cstdint>

#include "coherence/directory.hpp"
#include "unibuf/detail/gate.hpp"
#include "unibuf/options.hpp"

namespace unibuf::detail {

/// The bits depend on this alone.
struct gate_view {
    coherence::summary known;  // what the directory knows of all bytes together
    host_access allowed = host_access::read_write;
    bool busy = false;                   // work is queued; what else shuts the gate, the lock looks at before it asks
    bool busy_at_host = false;           // work is queued that uses the host's memory
    bool host_written_for_good = false;  // pointers to write are out, of all bytes, until they are released
    bool host_shown = false;             // pointers to the host's copy for reading are out
    std::uint8_t device = no_space;      // number of the default device; no_space where it has no copy
    bool device_waits = false;           // that device queues its work
    bool handle_is_out = false;          // a plain handle of that device's copy is out
};

struct gate_bits {
    std::uint32_t ready = 0;
    bool device_ready = false;  // a plain handle of all bytes can be given out again

    friend bool operator==(const gate_bits&, const gate_bits&) = default;
};

gate_bits bits_of(const gate_view& view) noexcept;

}  // namespace unibuf::detail
