// cli/page.cpp: writes a trace as a page for a browser.
#include "page.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "summary.hpp"

namespace unibuf_cli {
namespace {

using unibuf::event;
using unibuf::event_kind;
using unibuf::trace_file;

constexpr std::size_t slots = 120;           // parts of the time, in the chart of what moved
constexpr std::size_t most_steps = 1000;     // of each space, in the chart of the memory
constexpr std::size_t most_in_tables = 100;  // rows

/// Returns the bytes that were moved in each part of the time, by where from and where to.
nlohmann::ordered_json bytes_over_time(const trace_file& of, std::uint64_t begin, std::uint64_t duration) {
    std::map<std::string, std::array<std::uint64_t, slots>> lanes;
    for (const event& each : of.events) {
        if (each.kind != event_kind::transfer) continue;
        auto& lane = lanes[of.space_name(each.from) + " to " + of.space_name(each.to)];
        const std::uint64_t slot = (each.time - begin) * slots / std::max<std::uint64_t>(duration, 1);
        lane[std::min<std::uint64_t>(slot, slots - 1)] += each.bytes;
    }
    nlohmann::ordered_json result = nlohmann::ordered_json::object();
    for (const auto& [name, bytes] : lanes) result[name] = bytes;
    return result;
}

/// Returns pairs of a time in seconds and the bytes that buffers held from then on, by space.
nlohmann::ordered_json memory_over_time(const trace_file& of, std::uint64_t begin) {
    std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint8_t>, std::uint64_t> alive;  // bytes of each copy
    std::map<std::uint8_t, std::uint64_t> held;
    std::map<std::uint8_t, std::vector<std::pair<double, std::uint64_t>>> steps;
    for (const event& each : of.events) {
        const bool is_made = each.kind == event_kind::allocation;
        if (!is_made && each.kind != event_kind::release) continue;
        std::uint64_t& copy = alive[{each.process, each.buffer, each.to}];
        held[each.to] += is_made ? each.bytes : 0;
        held[each.to] -= copy;
        copy = is_made ? each.bytes : 0;
        steps[each.to].emplace_back(static_cast<double>(each.time - begin) / 1e9, held[each.to]);
    }
    nlohmann::ordered_json result = nlohmann::ordered_json::object();
    for (const auto& [space, all] : steps) {
        // The chart has room for the highest step of each run of them.
        const std::size_t each_stands_for = all.size() / most_steps + 1;
        std::vector<std::pair<double, std::uint64_t>> kept;
        for (std::size_t i = 0; i < all.size(); i += each_stands_for) {
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(i);
            const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(i + each_stands_for, all.size()));
            kept.push_back(*std::max_element(
                first, end, [](const auto& one, const auto& other) { return one.second < other.second; }));
        }
        result[of.space_name(space)] = kept;
    }
    return result;
}

void keep_first(nlohmann::ordered_json& rows) {
    if (rows.size() > most_in_tables) rows.erase(rows.begin() + most_in_tables, rows.end());
}

/// Returns JSON of the same meaning in which HTML sees no markup: `</script`, but also `<!--`, begins some.
std::string without_markup(std::string_view json) {
    std::string result;
    for (const char each : json) {
        if (each == '<') {
            result += "\\u003c";
        } else {
            result += each;
        }
    }
    return result;
}

void replace(std::string& text, std::string_view what, std::string_view by) {
    if (const std::size_t at = text.find(what); at != std::string::npos) text.replace(at, what.size(), by);
}

}  // namespace

std::string page_of(const trace_file& of, std::string_view name) {
    nlohmann::ordered_json all = to_json(summary(of));
    keep_first(all["sites"]);
    keep_first(all["buffers"]);
    all["name"] = name;
    all["findings"] = nlohmann::ordered_json::array();
    for (const named_finding& each : findings_of(of)) all["findings"].push_back(to_json(each));
    const std::uint64_t begin = of.events.empty() ? 0 : of.events.front().time;
    const std::uint64_t duration = of.events.empty() ? 0 : of.events.back().time - begin;
    all["seconds"] = static_cast<double>(duration) / 1e9;
    all["moves"] = bytes_over_time(of, begin, duration);
    all["memory"] = memory_over_time(of, begin);
    const std::string data = text_of(all, -1);
    std::string result(page_template);
    replace(result, "@chart_library@", chart_library);
    replace(result, "@data@", without_markup(data));  // which may name the other: it comes last
    return result;
}

}  // namespace unibuf_cli
