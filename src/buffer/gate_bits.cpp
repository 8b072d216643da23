// buffer/gate_bits.cpp: the rules of the gate.
#include "buffer/gate_bits.hpp"

namespace unibuf::detail {

gate_bits bits_of(const gate_view& view) noexcept {
    gate_bits result;
    const coherence::summary& known = view.known;
    if (known.any_lost || known.any_contested || known.any_open) return result;

    const bool writable_pointers = known.all_exposed && view.host_written_for_good;
    if (coherence::has(known.current, coherence::host) && !view.busy_at_host) {
        result.ready = gate::host_current;
        if (view.allowed != host_access::write_only) {
            result.ready |= gate::host_readable;
            if (view.host_shown) result.ready |= gate::host_shown;
        }
        if (host_may_write(view.allowed)) {
            if (known.written_at(coherence::host)) result.ready |= gate::host_writable;
            if (writable_pointers) result.ready |= gate::host_exposed;
        }
    }

    if (view.busy || view.device == no_space || !coherence::has(known.current, view.device)) return result;
    // A pointer to the host in the place of a device is a host pointer: a pointer that may be written through has to be
    // out already, and nothing may have to be looked for.
    const bool exposes = view.device == host_as_device.id() && host_may_write(view.allowed);
    if (exposes ? !(writable_pointers && known.all_assumed) : known.any_exposed) return result;
    result.ready |= std::uint32_t{view.device} << gate::device_shift;
    if (known.written_at(view.device) && !view.device_waits) result.ready |= gate::device_newest;
    result.device_ready = view.handle_is_out;
    return result;
}

}  // namespace unibuf::detail
