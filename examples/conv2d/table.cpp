// conv2d/table.cpp
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace conv2d {
namespace {

/// Returns how many times as fast as the copying version on its space a row is; nothing where that was not measured.
std::optional<double> ratio(const std::vector<row>& rows, const row& of) {
    if (!of.found) return std::nullopt;
    for (const row& each : rows) {
        if (each.space != of.space || each.how != mode::copying || !each.found) continue;
        return each.found->milliseconds / of.found->milliseconds;
    }
    return std::nullopt;
}

std::string time(double milliseconds) {
    if (milliseconds < 1) return fmt::format("{:.0f} us", milliseconds * 1000);
    if (milliseconds < 1000) return fmt::format("{:.1f} ms", milliseconds);
    return fmt::format("{:.2f} s", milliseconds / 1000);
}

std::string mib(double bytes) {
    const double amount = bytes / (1U << 20U);
    if (amount == 0) return "0 MiB";
    return amount < 0.1 ? "< 0.1 MiB" : fmt::format("{:.1f} MiB", amount);
}

}  // namespace

std::string to_table(const std::vector<row>& rows) {
    constexpr auto line = "{:<10} {:<10} {:>10} {:>13} {:>13} {:>12} {:>16}\n";
    std::string table =
        fmt::format(line, "space", "mode", "time", "copied", "peak held", "fence waits", "against copying");
    for (const row& each : rows) {
        const std::string_view how = each.how ? to_string(*each.how) : "";
        if (!each.found) {
            table += fmt::format("{:<10} {:<10} unavailable: {}\n", each.space, how, each.reason);
            continue;
        }
        const measurement& found = *each.found;
        const std::optional<double> faster = ratio(rows, each);
        table += fmt::format(line, each.space, how, time(found.milliseconds), mib(found.bytes_copied),
                             mib(static_cast<double>(found.peak_bytes)), fmt::format("{:.3g}", found.fence_waits),
                             faster ? fmt::format("{:.2f}x", *faster) : "-");
    }
    return table;
}

nlohmann::ordered_json to_json(const std::vector<row>& rows) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const row& each : rows) {
        nlohmann::ordered_json made{{"space", each.space}};
        if (each.how) made["mode"] = to_string(*each.how);
        if (each.found) {
            made["milliseconds"] = each.found->milliseconds;
            made["bytes_copied"] = std::llround(each.found->bytes_copied);
            made["peak_bytes"] = each.found->peak_bytes;
            made["fence_waits"] = each.found->fence_waits;
            const std::optional<double> faster = ratio(rows, each);
            made["ratio"] = faster ? nlohmann::ordered_json(*faster) : nlohmann::ordered_json();
        } else {
            made["unavailable"] = each.reason;
        }
        list.push_back(std::move(made));
    }
    return list;
}

}  // namespace conv2d
