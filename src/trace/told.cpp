// trace/told.cpp: what messages of errors say of the events before, of those that are recorded.
#include "trace/told.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <vector>

#include "trace/call_site.hpp"
#include "trace/recorder.hpp"
#include "unibuf/trace.hpp"

namespace unibuf::trace {
namespace {

std::string told_of_last_writes(std::uint64_t buffer, byte_range part) {
    std::map<std::uint8_t, event> last;  // by space
    visit_all([&](const event& each) {
        const bool touches = each.buffer == buffer && each.begin < part.end && part.begin < each.end;
        if (!touches || !is_write(each)) return;
        event& before = last[each.to];
        if (before.time < each.time) before = each;
    });
    std::vector<event> in_order;
    in_order.reserve(last.size());
    for (const auto& [where, each] : last) in_order.push_back(each);
    sort(in_order);
    std::string result;
    for (const event& each : in_order) result += (result.empty() ? "; last: " : "; ") + describe(each);
    return result;
}

std::string told_of_lease(std::uint64_t buffer, std::uint64_t time) {
    std::uint64_t site = 0;
    if (time == 0) return {};
    visit_own([&](const event& each) {
        const bool same = each.kind == event_kind::access && each.buffer == buffer && each.time == time;
        if (same) site = each.site;
        return !same && each.time >= time;
    });
    return site == 0 ? std::string() : "; it was taken in " + describe_site(site);
}

}  // namespace

std::string last_writes(std::uint64_t buffer, byte_range part) noexcept {
    try {
        return told_of_last_writes(buffer, part);
    } catch (const std::bad_alloc&) {
        return {};
    }
}

std::string place_of_lease(std::uint64_t buffer, std::uint64_t time) noexcept {
    try {
        return told_of_lease(buffer, time);
    } catch (const std::bad_alloc&) {
        return {};
    }
}

}  // namespace unibuf::trace
