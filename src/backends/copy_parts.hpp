// backends/copy_parts.hpp: many copies by the CPU.
#pragma once

#include <cstddef>
#include <span>

#include "backends/backend.hpp"

namespace unibuf::backends {

/// Copies `parts`, which do not overlap, each to the same place. Pages that lie apart are cold at both ends, and the
/// hardware fetches ahead within a page only. So, while a long part is copied, the next one is fetched, and what is
/// written is not read first.
void copy_parts(std::span<const part> parts, std::byte* to, const std::byte* from) noexcept;

}  // namespace unibuf::backends
