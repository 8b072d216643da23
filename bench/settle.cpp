// bench/settle.cpp
#include "settle.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <string_view>
#include <unibuf/error.hpp>
#include <vector>

namespace bench {

outcome settle(const claim& claim, const std::function<figures(const situation&)>& measure) {
    outcome result{.name = claim.name, .unit = claim.unit, .goal = claim.goal.text(claim.unit)};
    std::string worst;
    std::map<std::string, std::vector<std::string>> unmeasured;  // names of cases, by the reason
    for (const situation& each : claim.cases) {
        try {
            const figures found = measure(each);
            result.cases.push_back({each.name, found});
            if (result.found && claim.goal.margin(*result.found) <= claim.goal.margin(found)) continue;
            result.found = found;
            worst = each.name;
        } catch (const unibuf::error& failure) {
            const bool too_small = failure.code() == unibuf::error_code::out_of_memory;
            if (failure.code() != unibuf::error_code::device_unavailable && !too_small) result.failed = true;
            unmeasured[failure.what()].push_back(each.name);
        } catch (const std::exception& failure) {
            result.failed = true;
            unmeasured[failure.what()].push_back(each.name);
        }
    }
    for (const auto& [why, names] : unmeasured) {
        const bool all = names.size() == claim.cases.size();
        const std::string_view what = result.failed ? "failed" : "skipped";
        result.note += all ? fmt::format("{}: {}", what, why) : fmt::format("{}: {}; ", fmt::join(names, "; "), why);
    }
    if (result.found) {
        result.note += worst;
        const bool reached = claim.goal.margin(*result.found) >= 1;
        if (unmeasured.empty() || !reached) result.holds = reached;
    }
    if (result.failed) result.holds = false;
    return result;
}

}  // namespace bench
