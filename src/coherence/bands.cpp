// coherence/bands.cpp
#include "coherence/bands.hpp"

#include <algorithm>

namespace unibuf::coherence {

/// Returns the place of the band that has the index `at`.
std::size_t bands::place_of(const list& all, std::size_t at) noexcept {
    return static_cast<std::size_t>(std::ranges::upper_bound(all, at, {}, &band::begin) - all.begin()) - 1;
}

/// Makes a band begin at the index `at`, and returns its place in the list.
std::size_t bands::split(list& all, std::size_t at, std::size_t indices) {
    if (at == indices) return all.size();
    const std::size_t place = place_of(all, at);
    if (all[place].begin == at) return place;
    band second = all[place];
    second.begin = at;
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(place + 1), std::move(second));
    return place + 1;
}

void bands::divide_in(list& all, std::size_t axis, std::size_t indices, const box& within) {
    const std::size_t first = split(all, within.begin[axis], indices);
    const std::size_t last = split(all, within.end[axis], indices);
    for (std::size_t i = first; i < last; ++i) {
        band& each = all[i];
        if (each.inner.empty()) {
            if (is_full_behind(within, axis)) continue;
            each.inner.push_back({0, each.known, {}});
            each.known = {};
        }
        if (!is_full_behind(within, axis)) divide_in(each.inner, axis + 1, on_.extent(axis + 1), within);
    }
}

const knowledge& bands::first_of(const list& all) noexcept {
    return all.front().inner.empty() ? all.front().known : first_of(all.front().inner);
}

std::size_t bands::boxes_of(const list& all) noexcept {
    std::size_t result = 0;
    for (const band& each : all) result += each.inner.empty() ? 1 : boxes_of(each.inner);
    return result;
}

}  // namespace unibuf::coherence
