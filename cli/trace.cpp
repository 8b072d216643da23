// cli/trace.cpp: `unibuf why` and `unibuf check`.
#include "trace.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lines.hpp"
#include "output.hpp"
#include "unibuf/error.hpp"
#include "unibuf/space.hpp"
#include "unibuf/trace.hpp"

namespace unibuf_cli {
namespace {

using unibuf::event;
using unibuf::event_kind;
using unibuf::trace_file;

constexpr int exceeded = 3;

/// Returns the kinds of spaces, of this machine or not: "cuda", "debug", "host", ...
const std::set<std::string, std::less<>>& kinds() {
    static const std::set<std::string, std::less<>> all = [] {
        std::set<std::string, std::less<>> result{"host"};
        for (const unibuf::device_info& each : unibuf::devices())
            result.insert(each.name.substr(0, each.name.find(':')));
        return result;
    }();
    return all;
}

/// Returns whether a text may be that of some spaces: "*", "cuda", "cuda:0".
bool names_spaces(std::string_view text) {
    if (text == "*") return true;
    const std::string_view kind = text.substr(0, text.find(':'));
    const std::string_view number = kind == text ? "0" : text.substr(kind.size() + 1);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return kinds().contains(kind) && !number.empty() && std::ranges::all_of(number, is_digit);
}

/// Reads "1GB"; nothing where it is no size.
std::optional<std::uint64_t> size_in(std::string text) {
    static const CLI::AsSizeValue in_bytes(true);
    try {
        if (!text.empty() && text[0] != '-' && in_bytes(text).empty()) return std::stoull(text);
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
        throw CLI::ValidationError(
            "--max", "'" + text + "' is not FROM:TO=BYTES, such as host:cuda=1GB; spaces are of the kinds " +
                         CLI::detail::join(kinds(), ", "));
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
