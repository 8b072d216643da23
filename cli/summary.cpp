// cli/summary.cpp: sums up a trace.
#include "summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace unibuf_cli {

using unibuf::event;
using unibuf::traffic;

namespace {

nlohmann::ordered_json to_json(const traffic& of) {
    nlohmann::ordered_json result{{"moved", of.moved}, {"least", of.least}};
    if (std::isfinite(of.ratio())) result["ratio"] = of.ratio();
    result.update({{"declared", of.declared}, {"found", of.found}, {"assumed", of.assumed}});
    return result;
}

}  // namespace

summary::summary(const unibuf::trace_file& of) : all(unibuf::traffic_of(of.events)), untracked(of.untracked) {
    std::map<std::uint64_t, std::vector<event>> events_of;
    std::map<std::string, counted> by_site;
    for (const event& each : of.events) {
        events_of[each.buffer].push_back(each);
        if (each.kind != unibuf::event_kind::transfer) continue;
        routes[{of.space_name(each.from), of.space_name(each.to), std::string(to_string(each.why))}].add(each);
        by_site[of.site_name(each.site)].add(each);
    }
    for (const auto& [id, events] : events_of) {
        buffers.push_back({id, of.buffer_name(id), unibuf::traffic_of(events)});
    }
    std::ranges::sort(buffers, std::ranges::greater{}, [](const buffer_traffic& each) {
        return std::tuple(each.sum.moved - std::min(each.sum.moved, each.sum.least), each.sum.moved, each.id);
    });
    sites.assign(by_site.begin(), by_site.end());
    std::ranges::sort(sites, std::ranges::greater{},
                      [](const auto& each) { return std::tie(each.second.bytes, each.first); });
}

std::string ratio_text(const traffic& of) {
    return std::isfinite(of.ratio()) ? fmt::format("{:.2f}", of.ratio()) : "inf";
}

nlohmann::ordered_json to_json(const summary& of) {
    nlohmann::ordered_json result = to_json(of.all);
    if (!of.untracked.empty()) result["untracked"] = of.untracked;
    result["routes"] = nlohmann::ordered_json::array();
    for (const auto& [route, made] : of.routes) {
        result["routes"].push_back({{"from", std::get<0>(route)},
                                    {"to", std::get<1>(route)},
                                    {"cause", std::get<2>(route)},
                                    {"transfers", made.transfers},
                                    {"bytes", made.bytes}});
    }
    result["buffers"] = nlohmann::ordered_json::array();
    for (const buffer_traffic& each : of.buffers) {
        nlohmann::ordered_json one{{"buffer", each.id}, {"name", each.name}};
        one.update(to_json(each.sum));
        result["buffers"].push_back(std::move(one));
    }
    result["sites"] = nlohmann::ordered_json::array();
    for (const auto& [site, made] : of.sites) {
        result["sites"].push_back({{"site", site}, {"transfers", made.transfers}, {"bytes", made.bytes}});
    }
    return result;
}

std::vector<named_finding> findings_of(const unibuf::trace_file& of) {
    std::vector<named_finding> result;
    for (const unibuf::finding& each : unibuf::diagnose(of.events, of)) result.emplace_back(each, of);
    return result;
}

nlohmann::ordered_json to_json(const named_finding& of) {
    return {{"kind", to_string(of.kind)},
            {"line", of.line},
            {"buffer", of.buffer},
            {"name", of.of_buffer},
            {"times", of.times},
            {"bytes", of.bytes},
            {"seconds", static_cast<double>(of.took) / 1e9},
            {"evidence", of.evidence},
            {"change", of.change}};
}

std::string text_of(const nlohmann::ordered_json& of, int indent) {
    return of.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace unibuf_cli
