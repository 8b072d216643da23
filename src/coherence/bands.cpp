// coherence/bands.cpp
#include "coherence/bands.hpp"

#include <algorithm>

namespace unibuf::coherence {

/// Makes a band begin at the index `at`, and returns its place in the list.
std::size_t bands::split(list& all, std::size_t at, std::size_t indices) {
    if (at == indices) return all.size();
    const auto next = std::ranges::upper_bound(all, at, {}, &band::begin);
    const auto place = static_cast<std::size_t>(next - all.begin());
    if (all[place - 1].begin == at) return place - 1;
    band second = all[place - 1];
    second.begin = at;
    all.insert(next, std::move(second));
    return place;
}

/// Joins equal neighbours among the bands [first, last) and the two beside them.
void bands::join(list& all, std::size_t first, std::size_t last) {
    std::size_t kept = first ? first - 1 : 0;
    const std::size_t end = std::min(last + 1, all.size());
    for (std::size_t i = kept + 1; i < end; ++i) {
        if (all[i].known == all[kept].known && all[i].inner == all[kept].inner) continue;
        ++kept;
        if (kept != i) all[kept] = std::move(all[i]);
    }
    const auto begin = all.begin();
    all.erase(begin + static_cast<std::ptrdiff_t>(kept + 1),
              begin + static_cast<std::ptrdiff_t>(std::max(end, kept + 1)));
}

const knowledge& bands::first_of(const list& all) noexcept {
    return all.front().inner.empty() ? all.front().known : first_of(all.front().inner);
}

std::size_t bands::boxes_of(const list& all) noexcept {
    std::size_t result = 0;
    for (const band& each : all) result += each.inner.empty() ? 1 : boxes_of(each.inner);
    return result;
}

void bands::add_to(summary& to, const list& all) noexcept {
    for (const band& each : all) each.inner.empty() ? to.add(summary_of(each.known)) : add_to(to, each.inner);
}

}  // namespace unibuf::coherence
