// trace/contents.hpp: what has gone between the host and the devices, so that a close trace tells what has changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "coherence/region.hpp"
#include "coherence/spaces.hpp"

namespace unibuf::trace {

/// Returns how many bytes of `part`, in lines, are other than those that went between the host and the device the last
/// time, and keeps them for the next. `first` is where the first of them lies at the host, and the others behind it:
/// one behind the other where they are packed, else as in the buffer, which has `size` bytes. Nothing where there is no
/// memory for that.
std::optional<std::uint64_t> changed_in(std::uint64_t buffer, coherence::space_id device, const region& part,
                                        const std::byte* first, bool is_packed, std::size_t size) noexcept;

/// Forgets what was kept of a buffer, or of all.
void forget_contents(std::uint64_t buffer) noexcept;
void forget_contents() noexcept;

}  // namespace unibuf::trace
