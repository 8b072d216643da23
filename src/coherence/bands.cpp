// coherence/bands.cpp: a directory of bytes that are seen as a lattice: boxes stay boxes in it.
#include "coherence/bands.hpp"

#include <algorithm>

namespace unibuf::coherence {

/// Makes a band begin at the index `at`.
void bands::split(list& all, std::size_t at, std::size_t indices) {
    if (at == indices) return;
    const auto before = all.at(at);
    if (before->begin == at) return;
    band second = *before;
    second.begin = at;
    all.insert_behind(before, std::move(second));
}

void bands::divide_in(list& all, std::size_t axis, std::size_t indices, const box& within) {
    split(all, within.begin[axis], indices);
    split(all, within.end[axis], indices);
    if (is_full_behind(within, axis)) return;
    for (auto each = all.at(within.begin[axis]); each != all.end() && each->begin < within.end[axis]; ++each) {
        if (each->inner.empty()) {
            each->inner.start({0, each->known, {}});
            each->known = {};
        }
        divide_in(each->inner, axis + 1, on_.extent(axis + 1), within);
    }
}

const knowledge& bands::first_of(const list& all) noexcept {
    return all.begin()->inner.empty() ? all.begin()->known : first_of(all.begin()->inner);
}

std::size_t bands::boxes_of(const list& all) noexcept {
    std::size_t result = 0;
    for (const band& each : all) result += each.inner.empty() ? 1 : boxes_of(each.inner);
    return result;
}

}  // namespace unibuf::coherence
