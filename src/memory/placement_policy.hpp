// memory/placement_policy.hpp: whether a device shares the host's memory. Pure.
#pragma once

#include <string_view>

#include "backends/backend.hpp"
#include "unibuf/options.hpp"

namespace unibuf::detail {

struct placement_choice {
    placement wanted = placement::mirrored;
    std::string_view reason;
};

placement_choice choose_placement(memory_hint hint, const backends::traits& device) noexcept;

}  // namespace unibuf::detail
