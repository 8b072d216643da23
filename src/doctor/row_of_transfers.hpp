// doctor/row_of_transfers.hpp: transfers that a fault may explain, and rows of them that one call could make.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "unibuf/trace.hpp"

namespace unibuf::doctor {

/// A transfer, until some fault explains it.
struct candidate {
    transfer_fate what;
    const event* made = nullptr;
    const event* writer = nullptr;  // null where nobody is known
    bool is_explained = false;
};

/// Transfers of one line, one after the other, that one call could make: small pieces at equal distances, or of
/// different buffers.
struct row_of_transfers {
    std::vector<candidate*> all;
    std::set<std::pair<std::uint32_t, std::uint64_t>> buffers;

    /// Returns whether the transfer goes on where the others have ended. `written` is when its bytes were written.
    bool is_continued_by(const event& made, std::uint64_t written) const {
        const event& last = *all.back()->made;
        const event& first = *all.front()->made;
        const bool is_later = made.time - made.took >= last.time;  // else one call made both
        const bool was_there = written <= first.time - first.took;
        if (!is_later || !was_there || made.bytes != last.bytes) return false;
        if (made.buffer != last.buffer) {
            return buffers.size() == all.size() && !buffers.contains({made.process, made.buffer});
        }
        if (buffers.size() != 1 || made.begin <= last.begin) return false;
        return all.size() == 1 || made.begin - last.begin == last.begin - all[all.size() - 2]->made->begin;
    }
};

}  // namespace unibuf::doctor
