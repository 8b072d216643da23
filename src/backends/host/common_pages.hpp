// backends/host/common_pages.hpp: small allocations of whole pages, from mappings that many of them have in common.
//
// A process has only so many mappings (vm.max_map_count). Memory that is watched for writes is a mapping that joins no
// other, so that some ten thousand buffers of a page would use them up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backends/arena.hpp"
#include "process/mutex.hpp"

namespace unibuf::backends {

/// These pages may be used by any thread, also in a child that was forked while others allocated.
class common_pages {
public:
    /// Returns the one object, which is never destroyed, as buffers may go when static objects do.
    static common_pages& instance();

    static constexpr bool serves(std::size_t bytes) noexcept { return bytes <= largest; }

    /// Returns pages that are zero, and untouched. Throws error(out_of_memory).
    std::byte* allocate(std::size_t bytes);

    /// Gives the memory back to the system, and keeps the addresses.
    void free(std::byte* address, std::size_t bytes) noexcept;

    /// Returns the mapping that an allocation at `address` is a part of.
    static std::span<std::byte> mapping_around(std::byte* address) noexcept {
        return {address - reinterpret_cast<std::uintptr_t>(address) % block, block};
    }

private:
    static constexpr std::size_t block = std::size_t{16} << 20;
    static constexpr std::size_t largest = std::size_t{512} << 10;
    static arena::measures measures() noexcept;

    common_pages();

    process::mutex mutex_;
    arena parts_;
};

}  // namespace unibuf::backends
