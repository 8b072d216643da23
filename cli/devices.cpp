// cli/devices.cpp: `unibuf devices` shows every space, what its memory can do, and why a missing one is missing.
#include "devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "output.hpp"
#include "unibuf/error.hpp"
#include "unibuf/space.hpp"

namespace unibuf_cli {
namespace {

using row = std::array<std::string, 7>;  // all columns but the last, which needs no padding

std::string_view yes_or_no(bool has) { return has ? "yes" : "-"; }

/// Returns nothing where the driver does not say, or fails: the list is shown all the same.
std::optional<std::uint64_t> free_memory(const unibuf::device_info& of) {
    if (!of.available) return {};
    try {
        return unibuf::memory_of(of.name).free;
    } catch (const unibuf::error&) {
        return {};
    }
}

std::string readable_or_dash(std::optional<std::uint64_t> bytes) { return bytes ? readable_bytes(*bytes) : "-"; }

std::vector<std::size_t> widths_of(const std::vector<row>& rows) {
    std::vector<std::size_t> result(std::tuple_size_v<row>);
    for (const row& each : rows) {
        for (std::size_t i = 0; i < each.size(); ++i) result[i] = std::max(result[i], each[i].size());
    }
    return result;
}

void print_table(const std::vector<unibuf::device_info>& all, const std::string& default_name) {
    std::vector<row> rows = {{"space", "memory", "free", "own memory", "aliases host", "host visible", "asynchronous"}};
    std::vector<std::string> last = {"description"};
    for (const unibuf::device_info& each : all) {
        const std::string name = each.name + (each.available && each.name == default_name ? " *" : "");
        if (!each.available) {
            rows.push_back({name});
            const auto is_of_kind = [&](const unibuf::device_info& other) {
                return other.available && other.name.starts_with(each.name + ":");
            };
            const char* const how = std::ranges::any_of(all, is_of_kind) ? "others are unavailable: " : "unavailable: ";
            last.push_back(how + one_line(each.reason));
            continue;
        }
        rows.push_back({name, each.memory_bytes ? readable_bytes(each.memory_bytes) : "-",
                        readable_or_dash(free_memory(each)), std::string(yes_or_no(each.own_memory)),
                        std::string(yes_or_no(each.aliases_host)), std::string(yes_or_no(each.host_visible)),
                        std::string(yes_or_no(each.asynchronous))});
        last.push_back(one_line(each.description));
    }
    const std::vector<std::size_t> widths = widths_of(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        fmt::print("{:<{}}  ", rows[i][0], widths[0]);
        if (i == 0 || all[i - 1].available) {
            for (std::size_t column = 1; column < 3; ++column) fmt::print("{:>{}}  ", rows[i][column], widths[column]);
            for (std::size_t column = 3; column < widths.size(); ++column) {
                fmt::print("{:<{}}  ", rows[i][column], widths[column]);
            }
        }
        fmt::print("{}\n", last[i]);
    }
    fmt::print("* the default device\n");
}

void print_properties(const std::vector<unibuf::device_info>& all) {
    for (const unibuf::device_info& each : all) {
        if (each.properties.empty()) continue;
        fmt::print("\n{}\n", each.name);
        for (const unibuf::device_property& said : each.properties) {
            fmt::print("  {:<20} {}\n", said.name, one_line(said.value));
        }
    }
}

void print_json(const std::vector<unibuf::device_info>& all, const std::string& default_name) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const unibuf::device_info& each : all) {
        nlohmann::ordered_json properties = nlohmann::ordered_json::object();
        for (const unibuf::device_property& said : each.properties) properties[said.name] = said.value;
        nlohmann::ordered_json free_bytes;
        if (const auto free = free_memory(each)) free_bytes = *free;
        list.push_back({{"name", each.name},
                        {"available", each.available},
                        {"reason", each.reason},
                        {"default", each.available && each.name == default_name},
                        {"description", each.description},
                        {"own_memory", each.own_memory},
                        {"aliases_host", each.aliases_host},
                        {"host_visible", each.host_visible},
                        {"asynchronous", each.asynchronous},
                        {"memory_bytes", each.memory_bytes},
                        {"free_bytes", free_bytes},
                        {"properties", properties}});
    }
    // Texts of a driver may be no UTF-8.
    fmt::print("{}\n", list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

void add_devices(CLI::App& app) {
    CLI::App* const command = app.add_subcommand("devices", "List every space, and why a missing one is missing");
    const auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "For programs: a list of objects")->disable_flag_override();
    const auto verbose = std::make_shared<bool>(false);
    command->add_flag("-v,--verbose", *verbose, "What else each driver says, below the table")->disable_flag_override();
    command->final_callback([as_json, verbose] {
        const std::vector<unibuf::device_info> all = unibuf::devices();
        const std::string default_name = unibuf::default_device().name();
        if (*as_json) return print_json(all, default_name);
        print_table(all, default_name);
        if (*verbose) print_properties(all);
    });
}

}  // namespace unibuf_cli
