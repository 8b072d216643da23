// memory/moves.hpp: bytes from one memory to another.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "backends/backend.hpp"
#include "coherence/region.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::detail {

/// Moves a range of one memory to another, `offset` bytes into that: by the device where it can, else by way of the
/// host. The two are apart.
fence move_on_devices(backends::memory& from, byte_range range, backends::memory& to, std::size_t offset, queue on);

/// Returns the copy of a box to the same place in another memory.
backends::rectangle_copy in_place(const box& of) noexcept;

/// Returns the copy of the bytes of `from`, in their order, to `to`, which has as many; nothing where that is no
/// rectangle.
std::optional<backends::rectangle_copy> rectangle_between(const region& to, const region& from);

/// Copies bytes that lie one behind the other to a part of the memory at `memory`; they may be some of it.
void scatter(const region& part, std::byte* memory, const std::byte* packed);

/// Copies a part of the memory at `memory` to bytes that lie one behind the other.
void gather(const region& part, const std::byte* memory, std::byte* packed);

/// Moves rows from one memory, `there`, to another, `here`: by the device where it can, else by way of the host.
fence move_on_devices(backends::memory& from, backends::memory& to, const backends::rectangle_copy& rows, queue on);

/// Moves `parts` between two memories, by the device between them or by way of the host. Adds a fence to `done`, which
/// has room, for each part that was started, so that after an error the caller knows which are under way.
void move_parts(backends::memory& from, backends::memory& to, bool to_host, std::span<const region> parts, queue on,
                backends::fences& done);

/// Repeats `pattern`, which divides the runs of a box, over them, from the host. Where it throws, some may be filled.
void fill_box(backends::memory& to, const box& of, std::span<const std::byte> pattern);

}  // namespace unibuf::detail
