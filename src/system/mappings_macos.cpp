// system/mappings_macos.cpp: what the process has mapped, on macOS.
#include <mach/mach.h>
#include <mach/vm_map.h>

#include <cstdint>

#include "system/mappings.hpp"

namespace unibuf::system {

std::optional<common_traits> mappings_of(std::span<const std::byte> memory) {
    const auto begin = static_cast<vm_address_t>(reinterpret_cast<std::uintptr_t>(memory.data()));
    const vm_address_t end = begin + memory.size();
    common_traits result;
    for (vm_address_t at = begin; at < end;) {
        vm_address_t first = at;
        vm_size_t bytes = 0;
        vm_region_extended_info_data_t about{};
        mach_msg_type_number_t count = VM_REGION_EXTENDED_INFO_COUNT;
        mach_port_t object = MACH_PORT_NULL;
        if (::vm_region_64(mach_task_self(), &first, &bytes, VM_REGION_EXTENDED_INFO,
                           reinterpret_cast<vm_region_info_t>(&about), &count, &object) != KERN_SUCCESS) {
            return {};
        }
        if (first > at) return common_traits{.all_private = false, .all_readable = false, .all_writable = false};
        const bool is_shared = about.share_mode == SM_SHARED || about.share_mode == SM_TRUESHARED;
        result.all_private = result.all_private && !is_shared;
        result.all_readable = result.all_readable && (about.protection & VM_PROT_READ) != 0;
        result.all_writable = result.all_writable && (about.protection & VM_PROT_WRITE) != 0;
        result.any_executable = result.any_executable || (about.protection & VM_PROT_EXECUTE) != 0;
        at = first + bytes;
    }
    return result;
}

}  // namespace unibuf::system
