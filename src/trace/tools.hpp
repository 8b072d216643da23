// trace/tools.hpp: tells other tools of copies and allocations, where the environment asks for that.
//
// UNIBUF_KOKKOS_TOOLS=LIBRARY[;LIBRARY...] loads tools that are written for Kokkos: they are told of each transfer as
// of a deep copy, and of each copy of a buffer as of an allocation. UNIBUF_NVTX=1 puts each transfer into a range of
// NVTX.
#pragma once

#include <cstdint>

#include "unibuf/space.hpp"

namespace unibuf::trace {

/// Whether any tool listens: looked at before anything is told.
inline constinit bool any_tool = false;

void tell_copy_begins(std::uint64_t buffer, space from, space to, const void* source, const void* target,
                      std::uint64_t bytes) noexcept;
void tell_copy_ended() noexcept;
void tell_allocated(std::uint64_t buffer, space where, const void* at, std::uint64_t bytes) noexcept;
void tell_freed(std::uint64_t buffer, space where, const void* at, std::uint64_t bytes) noexcept;

/// Tells that bytes are moved as long as this lives. Addresses are null where a space has none.
class told_copy {
public:
    told_copy(std::uint64_t buffer, space from, space to, const void* source, const void* target,
              std::uint64_t bytes) noexcept
        : told_(any_tool) {
        if (told_) tell_copy_begins(buffer, from, to, source, target, bytes);
    }
    ~told_copy() {
        if (told_) tell_copy_ended();
    }
    told_copy(const told_copy&) = delete;
    told_copy& operator=(const told_copy&) = delete;

private:
    bool told_;
};

}  // namespace unibuf::trace
