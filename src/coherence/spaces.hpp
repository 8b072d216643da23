// coherence/spaces.hpp: spaces as the core sees them: numbers, sets of them, and which of them share a memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "unibuf/space.hpp"

namespace unibuf::coherence {

using space_id = std::uint8_t;
using space_set = std::uint32_t;
static_assert(max_spaces == 32, "a bit for each");

inline constexpr space_id host = 0;

constexpr space_set set_of(space_id space) noexcept { return space_set{1} << space; }
constexpr bool has(space_set spaces, space_id space) noexcept { return (spaces & set_of(space)) != 0; }

/// Calls `visit` for each space of the set, lowest first.
template <class Visit>
constexpr void for_each_space(space_set spaces, Visit visit) {
    for (; spaces != 0; spaces &= spaces - 1) visit(static_cast<space_id>(std::countr_zero(spaces)));
}

/// A sharing tells which spaces share one memory. One of those that do is the hub: the host where it is among them.
/// Content goes in and out of a shared memory by its hub; the others are shown it.
class sharing {
public:
    constexpr space_id hub(space_id space) const noexcept { return hubs_[space]; }
    constexpr void share(space_id space, space_id hub) noexcept {
        hubs_[space] = hub;
        any_shared_ |= space != hub;
    }

    /// Returns whether any two spaces share a memory.
    constexpr bool any_shared() const noexcept { return any_shared_; }

    /// Returns all spaces that use the memory of `space`, itself among them.
    constexpr space_set group(space_id space) const noexcept {
        if (!any_shared_) return set_of(space);
        space_set result = 0;
        for (std::size_t i = 0; i < max_spaces; ++i) {
            if (hubs_[i] == hubs_[space]) result |= set_of(static_cast<space_id>(i));
        }
        return result;
    }

private:
    static constexpr std::array<space_id, max_spaces> own = [] {
        std::array<space_id, max_spaces> result{};
        for (std::size_t i = 0; i < max_spaces; ++i) result[i] = static_cast<space_id>(i);
        return result;
    }();

    std::array<space_id, max_spaces> hubs_ = own;
    bool any_shared_ = false;
};

}  // namespace unibuf::coherence
