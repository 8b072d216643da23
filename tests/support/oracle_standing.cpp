// support/oracle_standing.cpp: what standing holds change in the table of bytes.
//
// The device of a hold that writes is alone current in all bytes that it has. The device of a hold that only reads is
// as current as any reader, except in what may be written through pointers that were out before the hold began.
#include <algorithm>

#include "support/oracle.hpp"

namespace unibuf::test {

void oracle::give_back(const std::vector<bool>& leased) {
    for (const standing_rules& each : standing_) {
        for (std::size_t at = each.range().begin; at < each.range().end; ++at) {
            cell& of = cells_[at];
            if (each.is_unsure(at)) {
                of.current = 0;
                of.exposed = of.exposed && each.only_reads();
            }
            if (leased[at] || !each.may_have(at)) continue;
            if (!each.only_reads()) newest_at(of, each.where());
            if (each.only_reads() && !of.exposed) of.current |= set_of(each.where());
        }
    }
}

std::size_t oracle::to_give_back(const region& asked, bool writes) const {
    std::size_t bytes = 0;
    for (const standing_rules& each : standing_) {
        for (std::size_t at = each.range().begin; at < each.range().end; ++at) {
            const bool is_asked = asked.overlaps(region(at, at + 1));
            const bool written_unseen = cells_[at].blurred && (is_asked || each.only_reads());
            if (each.is_unsure(at) || written_unseen || (is_asked && writes)) ++bytes;
        }
    }
    return bytes;
}

void oracle::doubt_standing() {
    for (standing_rules& each : standing_) each.doubt();
}

}  // namespace unibuf::test
