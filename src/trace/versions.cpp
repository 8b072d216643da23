// trace/versions.cpp
#include "trace/versions.hpp"

#include <bit>
#include <iterator>

namespace unibuf::trace {

using coherence::has;
using coherence::set_of;
using coherence::space_set;

std::uint64_t links::of_tree(space_set memories) const noexcept {
    if (memories == 0) return 0;
    const auto joined = static_cast<std::uint64_t>(std::popcount(memories)) - 1;
    if (joined == 0 || has(memories, coherence::host)) return joined;
    space_set reached = memories & -memories;
    for (space_set before = 0; before != reached;) {
        before = reached;
        for (const auto& [one, other] : all_) {
            if (has(reached, one) || has(reached, other)) reached |= (set_of(one) | set_of(other)) & memories;
        }
    }
    return reached == memories ? joined : joined + 1;
}

/// Splits the versions at the ends of the range, changes those inside, and joins neighbours that are alike.
template <class Change>
void versions::change(std::uint64_t begin, std::uint64_t end, Change change) {
    if (begin >= end) return;
    const auto split = [&](std::uint64_t at) {
        const auto next = all_.lower_bound(at);
        return next != all_.end() && next->first == at ? next : all_.emplace_hint(next, at, std::prev(next)->second);
    };
    auto each = split(begin);
    const auto last = split(end);
    for (auto i = each; i != last; ++i) change(i->second, std::next(i)->first - i->first);
    if (each != all_.begin()) --each;
    for (auto next = std::next(each); next != all_.end() && each != last; next = std::next(each)) {
        if (next->second == each->second) {
            const bool was_last = next == last;
            all_.erase(next);
            if (was_last) return;
        } else {
            each = next;
        }
    }
}

std::uint64_t versions::cost_of(const version& of) const noexcept {
    return of.everywhere ? 0 : links_.of_tree(of.memories);
}

void versions::use(std::uint64_t begin, std::uint64_t end, std::uint8_t memory) {
    change(begin, end, [&](version& of, std::uint64_t) {
        if (!of.everywhere) of.memories |= set_of(memory);
    });
}

void versions::write(std::uint64_t begin, std::uint64_t end, std::uint8_t memory) {
    change(begin, end, [&](version& of, std::uint64_t bytes) {
        ended_ += bytes * cost_of(of);
        of = {.memories = set_of(memory), .everywhere = false};
    });
}

void versions::make_everywhere(std::uint64_t begin, std::uint64_t end) {
    change(begin, end, [&](version& of, std::uint64_t bytes) {
        ended_ += bytes * cost_of(of);
        of = {};
    });
}

std::uint64_t versions::least() const noexcept {
    std::uint64_t result = ended_;
    for (auto each = all_.begin(); std::next(each) != all_.end(); ++each) {
        result += (std::next(each)->first - each->first) * cost_of(each->second);
    }
    return result;  // the last version is of bytes behind all that were touched
}

}  // namespace unibuf::trace
