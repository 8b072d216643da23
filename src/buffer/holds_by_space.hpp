// buffer/holds_by_space.hpp: which bytes of a buffer's copies are held by pointers, handles and views, space by space.
#pragma once

#include <algorithm>
#include <list>
#include <utility>

#include "coherence/held_ranges.hpp"
#include "coherence/spaces.hpp"

namespace unibuf::detail {

class holds_by_space {
public:
    /// Returns what is held at `where`, which is made on first use.
    held_ranges& at(coherence::space_id where) {
        const auto found = std::ranges::find(all_, where, &entry::where);
        return found != all_.end() ? found->held : all_.emplace_back(entry{where, {}}).held;
    }
    /// Returns what is held at `where`; null where nothing ever was.
    const held_ranges* find(coherence::space_id where) const noexcept {
        const auto found = std::ranges::find(all_, where, &entry::where);
        return found != all_.end() ? &found->held : nullptr;
    }
    held_ranges* find(coherence::space_id where) noexcept {
        return const_cast<held_ranges*>(std::as_const(*this).find(where));
    }

    /// Calls visit(space_id, const held_ranges&) for what is held at each space.
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (const entry& each : all_) visit(each.where, each.held);
    }

    void end_all_pointers() noexcept {
        for (entry& each : all_) each.held.end_all_pointers();
    }

    bool any() const noexcept {
        return std::ranges::any_of(all_, [](const entry& each) { return each.held.any(); });
    }

    /// Returns the bytes of `range` that somebody holds at any space.
    byte_ranges of(byte_range range) const {
        byte_ranges result;
        for (const entry& each : all_) result.add(each.held.of(range));
        return result;
    }

private:
    struct entry {
        coherence::space_id where;
        held_ranges held;
    };
    std::list<entry> all_;  // what was returned stays where it is
};

}  // namespace unibuf::detail
