// cli/trace.cpp
#include "trace.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "lines.hpp"
#include "output.hpp"
#include "unibuf/error.hpp"
#include "unibuf/trace.hpp"

namespace unibuf_cli {
namespace {

using unibuf::event;
using unibuf::event_kind;
using unibuf::trace_file;
using unibuf::traffic;

constexpr int exceeded = 3;

struct counted {
    std::uint64_t transfers = 0;
    std::uint64_t bytes = 0;

    void add(const event& made) {
        ++transfers;
        bytes += made.bytes;
    }
};

/// A trace, summed up.
struct summary {
    explicit summary(const trace_file& of) : all(unibuf::traffic_of(of.events)) {
        std::map<std::uint64_t, std::vector<event>> events_of;
        for (const event& each : of.events) {
            events_of[each.buffer].push_back(each);
            if (each.kind != event_kind::transfer) continue;
            routes[{of.space_name(each.from), of.space_name(each.to), std::string(to_string(each.why))}].add(each);
            sites[each.site].add(each);
        }
        for (const auto& [id, events] : events_of) buffers.emplace_back(id, unibuf::traffic_of(events));
        // The buffers that moved most without need come first.
        std::ranges::sort(buffers, std::ranges::greater{}, [](const auto& each) {
            return std::pair(each.second.moved - std::min(each.second.moved, each.second.least), each.second.moved);
        });
    }

    traffic all;
    std::map<std::tuple<std::string, std::string, std::string>, counted> routes;  // by from, to and cause
    std::map<std::uint64_t, counted> sites;
    std::vector<std::pair<std::uint64_t, traffic>> buffers;
};

std::string ratio_text(const traffic& of) {
    return std::isfinite(of.ratio()) ? fmt::format("{:.2f}", of.ratio()) : "inf";
}

/// Returns "12 % declared, 80 % found, 8 % assumed".
std::string writes_text(const traffic& of) {
    const std::uint64_t sum = of.declared + of.found + of.assumed;
    if (sum == 0) return "nothing was written";
    const auto share = [&](std::uint64_t bytes) { return 100 * static_cast<double>(bytes) / static_cast<double>(sum); };
    return fmt::format("{} were written: {:.0f} % declared, {:.0f} % found, {:.0f} % assumed", readable_bytes(sum),
                       share(of.declared), share(of.found), share(of.assumed));
}

void print_report(const trace_file& of, std::size_t most) {
    const summary sum(of);
    fmt::print("moved / least needed: {} ({} / {})\n{}\n", ratio_text(sum.all), readable_bytes(sum.all.moved),
               readable_bytes(sum.all.least), writes_text(sum.all));
    if (sum.routes.empty()) return;
    fmt::print("\n{:>12}  {:>10}  from -> to, for\n", "bytes", "transfers");
    for (const auto& [route, made] : sum.routes) {
        fmt::print("{:>12}  {:>10}  {} -> {}, {}\n", readable_bytes(made.bytes), made.transfers, std::get<0>(route),
                   std::get<1>(route), std::get<2>(route));
    }
    fmt::print("\n{:>12}  {:>12}  {:>6}  buffer\n", "moved", "least", "ratio");
    for (std::size_t i = 0; i < std::min(most, sum.buffers.size()); ++i) {
        const auto& [id, its] = sum.buffers[i];
        fmt::print("{:>12}  {:>12}  {:>6}  #{}\n", readable_bytes(its.moved), readable_bytes(its.least),
                   ratio_text(its), id);
    }
    std::vector<std::pair<std::uint64_t, counted>> sites(sum.sites.begin(), sum.sites.end());
    std::ranges::sort(sites, std::ranges::greater{},
                      [](const auto& each) { return std::pair(each.second.bytes, each.first); });
    fmt::print("\n{:>12}  {:>10}  asked for in\n", "bytes", "transfers");
    for (std::size_t i = 0; i < std::min(most, sites.size()); ++i) {
        fmt::print("{:>12}  {:>10}  {}\n", readable_bytes(sites[i].second.bytes), sites[i].second.transfers,
                   of.site_name(sites[i].first));
    }
}

nlohmann::ordered_json to_json(const traffic& of) {
    nlohmann::ordered_json result{{"moved", of.moved}, {"least", of.least}};
    if (std::isfinite(of.ratio())) result["ratio"] = of.ratio();
    result.update({{"declared", of.declared}, {"found", of.found}, {"assumed", of.assumed}});
    return result;
}

void print_json(const trace_file& of) {
    const summary sum(of);
    nlohmann::ordered_json result = to_json(sum.all);
    result["routes"] = nlohmann::ordered_json::array();
    for (const auto& [route, made] : sum.routes) {
        result["routes"].push_back({{"from", std::get<0>(route)},
                                    {"to", std::get<1>(route)},
                                    {"cause", std::get<2>(route)},
                                    {"transfers", made.transfers},
                                    {"bytes", made.bytes}});
    }
    result["buffers"] = nlohmann::ordered_json::array();
    for (const auto& [id, its] : sum.buffers) {
        nlohmann::ordered_json one{{"buffer", id}};
        one.update(to_json(its));
        result["buffers"].push_back(std::move(one));
    }
    result["sites"] = nlohmann::ordered_json::array();
    for (const auto& [site, made] : sum.sites) {
        result["sites"].push_back({{"site", of.site_name(site)}, {"transfers", made.transfers}, {"bytes", made.bytes}});
    }
    fmt::print("{}\n", result.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

/// Returns whether a text may be that of some spaces: "*", "cuda", "cuda:0".
bool names_spaces(std::string_view text) {
    if (text == "*") return true;
    const std::string_view kind = text.substr(0, text.find(':'));
    const std::string_view number = kind == text ? "0" : text.substr(kind.size() + 1);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
    return !kind.empty() && !number.empty() && std::ranges::all_of(kind, is_letter) &&
           std::ranges::all_of(number, is_digit);
}

/// Reads "1GB"; nothing where it is no size.
std::optional<std::uint64_t> size_in(std::string text) {
    static const CLI::AsSizeValue in_bytes(true);
    try {
        if (!text.empty() && in_bytes(text).empty()) return std::stoull(text);
    } catch (const CLI::ValidationError&) {  // the caller says what is wrong
    }
    return std::nullopt;
}

/// A limit of `check`: so many bytes at most may go from one space to another. `*` stands for any, "cuda" for any
/// cuda:N.
struct limit {
    std::string text;
    std::string from;
    std::string to;
    std::uint64_t bytes = 0;

    /// Reads "host:cuda:0=1GB".
    static limit parse(const std::string& text) {
        const std::size_t equals = text.rfind('=');
        const std::string_view spaces = std::string_view(text).substr(0, std::min(equals, text.size()));
        const auto bytes = equals == std::string::npos ? std::nullopt : size_in(text.substr(equals + 1));
        for (std::size_t colon = spaces.find(':'); bytes && colon < spaces.size();
             colon = spaces.find(':', colon + 1)) {
            const std::string_view from = spaces.substr(0, colon), to = spaces.substr(colon + 1);
            if (names_spaces(from) && names_spaces(to)) return {text, std::string(from), std::string(to), *bytes};
        }
        throw CLI::ValidationError("--max", "'" + text + "' is not FROM:TO=BYTES, such as host:cuda=1GB");
    }

    bool is_about(const std::string& one, const std::string& other) const {
        const auto fits = [](const std::string& pattern, const std::string& name) {
            return pattern == "*" || pattern == name || name.starts_with(pattern + ":");
        };
        return fits(from, one) && fits(to, other);
    }
};

/// Returns whether all limits are kept. Says which are not.
bool check(const trace_file& of, const std::vector<std::string>& limits) {
    bool result = true;
    for (const std::string& text : limits) {
        const limit most = limit::parse(text);
        std::uint64_t moved = 0;
        for (const event& each : of.events) {
            const bool counts = each.kind == event_kind::transfer;
            if (counts && most.is_about(of.space_name(each.from), of.space_name(each.to))) moved += each.bytes;
        }
        const bool kept = moved <= most.bytes;
        fmt::print("{}: {} of {} moved ({} of {} bytes): {}\n", most.text, readable_bytes(moved),
                   readable_bytes(most.bytes), moved, most.bytes, kept ? "kept" : "EXCEEDED");
        result = result && kept;
    }
    return result;
}

}  // namespace

void add_report(CLI::App& app) {
    CLI::App* const command = app.add_subcommand("report", "What a trace moved, against the least that was needed");
    const auto file = std::make_shared<std::string>();
    command->add_option("file", *file, "A trace: UNIBUF_TRACE=file writes one")->required();
    const auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "For programs: an object")->disable_flag_override();
    const auto most = std::make_shared<std::size_t>(10);
    command->add_option("--most", *most, "So many buffers and places at most")->capture_default_str();
    command->final_callback([=] {
        const trace_file read = trace_with_lines(*file);
        *as_json ? print_json(read) : print_report(read, *most);
    });
}

void add_why(CLI::App& app) {
    CLI::App* const command = app.add_subcommand("why", "Why the bytes of a buffer were copied, in sentences");
    const auto file = std::make_shared<std::string>();
    command->add_option("file", *file, "A trace: UNIBUF_TRACE=file writes one")->required();
    const auto buffer = std::make_shared<std::uint64_t>();
    command->add_option("buffer", *buffer, "Its number, as `unibuf report` and messages show it")->required();
    command->final_callback([=] {
        const trace_file read = trace_with_lines(*file);
        const std::vector<std::string> told = unibuf::why(read.events, *buffer, read);
        if (told.empty()) {
            throw unibuf::error(
                unibuf::error_code::invalid_argument,
                fmt::format("{} has no event of buffer #{}: unibuf report lists those that it has", *file, *buffer));
        }
        for (const std::string& each : told) fmt::print("{}\n", one_line(each));
    });
}

void add_check(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("check", "Whether a trace keeps to limits; the exit status is 3 where it does not");
    const auto file = std::make_shared<std::string>();
    command->add_option("file", *file, "A trace: UNIBUF_TRACE=file writes one")->required();
    const auto limits = std::make_shared<std::vector<std::string>>();
    command
        ->add_option("--max", *limits, "FROM:TO=BYTES, such as host:cuda=1GB, *:host=0: so much may be moved at most")
        ->required();
    command->final_callback([=] {
        if (!check(unibuf::read_trace(*file), *limits)) throw CLI::RuntimeError(exceeded);
    });
}

}  // namespace unibuf_cli
