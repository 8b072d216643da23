// backends/opencl/mapped_ranges.cpp: cuts pieces at a range.
#include "backends/opencl/mapped_ranges.hpp"

#include <algorithm>

namespace unibuf::backends::cl {
namespace {

/// Unmaps `old`, but for what it has outside [begin, end).
void cut(remapping& change, const piece& old, std::size_t begin, std::size_t end) {
    change.unmap.push_back(old);
    if (old.begin < begin) change.map.push_back({old.begin, begin, old.how});
    if (old.end > end) change.map.push_back({end, old.end, old.how});
}

}  // namespace

remapping for_host(const std::vector<piece>& pieces, std::size_t begin, std::size_t end, mapping least) {
    remapping change;
    std::size_t reached = begin;
    for (const piece& each : pieces) {
        if (each.end <= begin || each.begin >= end) continue;
        if (each.how < least) {
            cut(change, each, begin, end);
            continue;
        }
        if (reached < each.begin) change.map.push_back({reached, each.begin, least});
        reached = std::max(reached, each.end);
    }
    if (reached < end) change.map.push_back({reached, end, least});
    return change;
}

remapping for_device(const std::vector<piece>& pieces, std::size_t begin, std::size_t end, mapping most) {
    remapping change;
    for (const piece& each : pieces) {
        if (each.end <= begin || each.begin >= end || each.how <= most) continue;
        cut(change, each, begin, end);
        if (most != mapping::none) {
            change.map.push_back({std::max(each.begin, begin), std::min(each.end, end), most});
        }
    }
    return change;
}

}  // namespace unibuf::backends::cl
