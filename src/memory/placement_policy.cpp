// memory/placement_policy.cpp: decides whether a device shares the host's memory.
#include "memory/placement_policy.hpp"

namespace unibuf::detail {

placement_choice choose_placement(memory_hint hint, const backends::traits& device) noexcept {
    switch (hint) {
        case memory_hint::cpu_preferred:
            return {placement::shared, "asked for: cpu_preferred"};
        case memory_hint::gpu_preferred:
            return {placement::mirrored, "asked for: gpu_preferred"};
        case memory_hint::coherent:
            return {placement::shared, "asked for: coherent"};
        case memory_hint::streaming:
            return {placement::shared, "asked for: streaming"};
        case memory_hint::none:
            break;
    }
    if (!device.aliases_host && !device.host_visible) return {placement::mirrored, "the device cannot share memory"};
    if (device.own_memory) return {placement::mirrored, "the device has memory of its own"};
    return {placement::shared, "the device has no memory of its own"};
}

}  // namespace unibuf::detail
