// cli/devices.cpp
#include "devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "output.hpp"
#include "unibuf/space.hpp"

namespace unibuf_cli {
namespace {

using row = std::array<std::string, 6>;  // all but the last column, which needs no padding

std::string_view yes_or_no(bool has) { return has ? "yes" : "-"; }

std::vector<std::size_t> widths_of(const std::vector<row>& rows) {
    std::vector<std::size_t> result(std::tuple_size_v<row>);
    for (const row& each : rows) {
        for (std::size_t i = 0; i < each.size(); ++i) result[i] = std::max(result[i], each[i].size());
    }
    return result;
}

void print_table(const std::vector<unibuf::device_info>& all, const std::string& default_name) {
    std::vector<row> rows = {{"space", "memory", "own memory", "aliases host", "host visible", "asynchronous"}};
    std::vector<std::string> last = {"description"};
    for (const unibuf::device_info& each : all) {
        const std::string name = each.name + (each.available && each.name == default_name ? " *" : "");
        if (!each.available) {
            rows.push_back({name});
            last.push_back("unavailable: " + one_line(each.reason));
            continue;
        }
        rows.push_back({name, each.memory_bytes ? readable_bytes(each.memory_bytes) : "-",
                        std::string(yes_or_no(each.own_memory)), std::string(yes_or_no(each.aliases_host)),
                        std::string(yes_or_no(each.host_visible)), std::string(yes_or_no(each.asynchronous))});
        last.push_back(one_line(each.description));
    }
    const std::vector<std::size_t> widths = widths_of(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        fmt::print("{:<{}}  ", rows[i][0], widths[0]);
        if (i == 0 || all[i - 1].available) {
            fmt::print("{:>{}}  ", rows[i][1], widths[1]);
            for (std::size_t column = 2; column < widths.size(); ++column) {
                fmt::print("{:<{}}  ", rows[i][column], widths[column]);
            }
        }
        fmt::print("{}\n", last[i]);
    }
    fmt::print("* the default device\n");
}

void print_json(const std::vector<unibuf::device_info>& all, const std::string& default_name) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const unibuf::device_info& each : all) {
        list.push_back({{"name", each.name},
                        {"available", each.available},
                        {"reason", each.reason},
                        {"default", each.available && each.name == default_name},
                        {"description", each.description},
                        {"own_memory", each.own_memory},
                        {"aliases_host", each.aliases_host},
                        {"host_visible", each.host_visible},
                        {"asynchronous", each.asynchronous},
                        {"memory_bytes", each.memory_bytes}});
    }
    // What a driver says may be no UTF-8.
    fmt::print("{}\n", list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

void add_devices(CLI::App& app) {
    CLI::App* const command = app.add_subcommand("devices", "List every space, and why a missing one is missing");
    const auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "For programs: a list of objects")->disable_flag_override();
    command->final_callback([as_json] {
        const std::vector<unibuf::device_info> all = unibuf::devices();
        const std::string default_name = unibuf::default_device().name();
        *as_json ? print_json(all, default_name) : print_table(all, default_name);
    });
}

}  // namespace unibuf_cli
