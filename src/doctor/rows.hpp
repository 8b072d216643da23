// doctor/rows.hpp: the bytes that an event is about.
#pragma once

#include <cstdint>

#include "unibuf/trace.hpp"

namespace unibuf::doctor {

/// Calls visit(begin, end) for each row of bytes, in order.
template <class Visit>
void for_each_row(const event& of, Visit visit) {
    if (of.axes == 0 || of.axes == hull_only) return visit(of.begin, of.end);
    const std::uint32_t inner = of.axes == 2 ? of.counts[1] : 1;
    for (std::uint32_t outer = 0; outer < of.counts[0]; ++outer) {
        for (std::uint32_t i = 0; i < inner; ++i) {
            const std::uint64_t begin = of.begin + outer * of.pitches[0] + i * of.pitches[1];
            visit(begin, begin + of.row_bytes);
        }
    }
}

}  // namespace unibuf::doctor
