// backends/holes.hpp: the free ranges in the blocks of an arena, by address. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace unibuf::backends {

/// An allocation is cut from the smallest hole that has room for it, and what comes back is joined with the holes
/// beside it in its block. Logarithmic in the number of holes.
class holes {
public:
    void add_block(std::uintptr_t begin, std::size_t bytes);

    /// Removes the blocks that are one hole, but for the first `kept` of them, and returns them. Looks only at large
    /// holes.
    std::vector<std::uintptr_t> remove_empty(std::size_t kept);

    /// Cuts a range from a hole. Returns nothing where no hole has room.
    std::optional<std::uintptr_t> take(std::size_t bytes);

    /// Makes a hole of what take() has given.
    void give(std::uintptr_t begin, std::size_t bytes);

private:
    using places = std::map<std::uintptr_t, std::size_t>;

    void add(std::uintptr_t begin, std::size_t bytes);
    void remove(places::iterator hole);

    places blocks_;
    std::size_t least_block_ = std::numeric_limits<std::size_t>::max();
    places by_place_;
    std::set<std::pair<std::size_t, std::uintptr_t>> by_size_;
};

}  // namespace unibuf::backends
