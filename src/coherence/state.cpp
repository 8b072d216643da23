// coherence/state.cpp: sums up a directory in one word.
#include "coherence/state.hpp"

#include <bit>

namespace unibuf::coherence {

buffer_state state_of(const directory& map, space_set allocated) {
    if (allocated == 0) return buffer_state::uninitialized;

    bool dirty = false;                              // some bytes were written since they were last in step
    bool host_lacks = false;                         // a device has bytes that the host lacks
    bool devices_lack = false;                       // the host has bytes that no device has
    space_set complete = allocated & ~set_of(host);  // the devices that are current everywhere
    map.for_each_kind([&](const knowledge& k) {
        const bool host_wrote = k.taken_for_written();
        if (k.what == content::unwritten && !host_wrote) return;  // zero everywhere: no side has more of it
        const space_set current = host_wrote ? set_of(host) : k.current;
        dirty |= host_wrote || k.what == content::written;
        devices_lack |= k.contested;
        host_lacks |= !has(current, host);
        devices_lack |= current == set_of(host);
        complete &= current;
    });

    if (allocated == set_of(host)) return dirty ? buffer_state::host_dirty : buffer_state::host_only;
    if (!has(allocated, host)) return dirty ? buffer_state::device_dirty : buffer_state::device_only;
    if (host_lacks) return devices_lack ? buffer_state::mixed : buffer_state::device_dirty;
    return complete ? buffer_state::synchronized : buffer_state::host_dirty;
}

const char* broken_rule(const directory& map, space_set allocated) {
    const char* broken = nullptr;
    std::size_t bytes = 0;
    map.for_each(map.whole(), [&](const region& piece, const knowledge& k) {
        bytes += piece.size();
        if (k.current & ~allocated) broken = "a space is current without a copy";
        if (k.what != content::unwritten && k.current == 0) broken = "content is current nowhere";
        if (k.what == content::written && !std::has_single_bit(k.current)) broken = "written by more than one space";
        if (k.host_pointers == pointers::fresh && k.what != content::unwritten)
            broken = "what was written is called fresh";
        if (k.open && (k.what != content::written || k.current == set_of(host)))
            broken = "open at the host or at nobody";
        if (k.lost && (k.what == content::unwritten || k.open)) broken = "what nobody wrote is lost";
        if (k.contested && (!k.exposed() || has(k.current, host) || k.current == 0)) broken = "contested by nobody";
    });
    if (!broken && bytes != map.bytes()) broken = "the pieces do not tile the buffer";
    return broken;
}

}  // namespace unibuf::coherence
