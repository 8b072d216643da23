// bench/summary.cpp
#include "summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace bench {
namespace {

constexpr int digits = 4;

std::string to_text(double value) {
    if (!std::isfinite(value) || value == 0) return fmt::format("{}", value);
    if (std::abs(value) < 0.01) return fmt::format("{:.2g}", value);
    const int before_point = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
    return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - std::max(before_point, 0)));
}

double rounded(double value) { return std::stod(fmt::format("{:.{}g}", value, digits)); }

std::string_view verdict(const std::optional<bool>& holds) {
    if (!holds) return "-";
    return *holds ? "holds" : "MISSED";
}

}  // namespace

nlohmann::ordered_json to_json(const std::vector<outcome>& outcomes) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const outcome& each : outcomes) {
        nlohmann::ordered_json row{{"name", each.name}, {"unit", each.unit}, {"measured", nullptr}, {"limit", nullptr},
                                   {"ratio", nullptr},  {"goal", each.goal}, {"holds", nullptr}};
        const auto put = [](nlohmann::ordered_json& into, const figures& found) {
            into["measured"] = rounded(found.measured);
            into["limit"] = rounded(found.limit);
            into["ratio"] = rounded(found.ratio());
        };
        if (each.found) put(row, *each.found);
        if (each.holds) row["holds"] = *each.holds;
        if (!each.note.empty()) row["note"] = each.note;
        row["cases"] = nlohmann::ordered_json::array();
        for (const found_case& one : each.cases) {
            row["cases"].push_back({{"name", one.name}});
            put(row["cases"].back(), one.found);
        }
        list.push_back(std::move(row));
    }
    return list;
}

std::string to_table(const std::vector<outcome>& outcomes) {
    const auto missed = [](const outcome& each) { return !each.holds.value_or(true); };
    std::vector<outcome> rows;
    std::ranges::remove_copy_if(outcomes, std::back_inserter(rows), missed);
    std::ranges::copy_if(outcomes, std::back_inserter(rows), missed);

    constexpr auto row = "{:<24} {:>10} {:>10}  {:<9} {:>8}  {:<16} {:<6}  {}\n";
    std::string table = fmt::format(row, "claim", "measured", "limit", "unit", "ratio", "goal", "", "");
    for (const outcome& each : rows) {
        const auto text = [&](double value) { return each.found ? to_text(value) : "-"; };
        const figures found = each.found.value_or(figures{});
        table += fmt::format(row, each.name, text(found.measured), text(found.limit), each.unit, text(found.ratio()),
                             each.goal, verdict(each.holds), each.note);
    }
    return table;
}

}  // namespace bench
