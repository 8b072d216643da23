// system/mappings_macos.cpp: what the process has mapped, on macOS.
#include <mach/mach.h>
#include <mach/vm_map.h>

#include <cstdint>

#include "system/mappings.hpp"

namespace unibuf::system {

bool is_private(std::span<const std::byte> memory) {
    const auto begin = static_cast<vm_address_t>(reinterpret_cast<std::uintptr_t>(memory.data()));
    const vm_address_t end = begin + memory.size();
    for (vm_address_t at = begin; at < end;) {
        vm_address_t first = at;
        vm_size_t bytes = 0;
        vm_region_top_info_data_t about{};
        mach_msg_type_number_t count = VM_REGION_TOP_INFO_COUNT;
        mach_port_t object = MACH_PORT_NULL;
        if (::vm_region_64(mach_task_self(), &first, &bytes, VM_REGION_TOP_INFO,
                           reinterpret_cast<vm_region_info_t>(&about), &count, &object) != KERN_SUCCESS) {
            return false;
        }
        const bool is_shared = about.share_mode == SM_SHARED || about.share_mode == SM_TRUESHARED;
        if (first > at || is_shared) return false;
        at = first + bytes;
    }
    return true;
}

/// Nobody asks here: it is for fault_watch.
bool is_private_data(std::span<const std::byte>) { return false; }

}  // namespace unibuf::system
