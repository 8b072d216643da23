// cli/explain.cpp: `unibuf explain` says what an error means, and what to do.
#include "explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace unibuf_cli {
namespace {

constexpr std::string_view before_name = "\n## ";

struct section {
    std::string_view name;
    std::string_view text;  // below the heading
};

/// Takes the first line off `text`, and returns it.
std::string_view next_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

std::vector<section> all_sections() {
    std::vector<section> result;
    std::string_view rest = errors_page;
    std::size_t at = rest.find(before_name);
    while (at != std::string_view::npos) {
        rest.remove_prefix(at + before_name.size());
        const std::string_view name = next_line(rest);
        at = rest.find(before_name);
        result.push_back({.name = name, .text = rest.substr(0, at)});
    }
    return result;
}

/// Returns the first line of a section, which says what it is about.
std::string_view about(std::string_view text) {
    std::string_view line;
    while (line.empty() && !text.empty()) line = next_line(text);
    return line;
}

/// Prints Markdown for a terminal: code is indented, and what only tests read is left out.
void print(const section& shown) {
    std::string result = fmt::format("{}\n", shown.name);
    bool in_code = false;
    std::string_view rest = shown.text;
    while (!rest.empty()) {
        const std::string_view line = next_line(rest);
        if (line.starts_with("```")) {
            in_code = !in_code;
        } else if (!line.starts_with("<!-- ")) {
            result += fmt::format("{}{}\n", in_code && !line.empty() ? "    " : "", line);
        }
    }
    fmt::print("{}", result);
}

void print_list(const std::vector<section>& all) {
    for (const section& each : all) fmt::print("{:<20}{}\n", each.name, about(each.text));
}

}  // namespace

void add_explain(CLI::App& app) {
    CLI::App* const command = app.add_subcommand(
        "explain", "What an error means, what it leaves, and its frequent messages with cause and cure");
    const auto name = std::make_shared<std::string>();
    CLI::Option* const given = command->add_option("code", *name, "The error; without it all are listed");
    command->final_callback([=] {
        const std::vector<section> all = all_sections();
        if (given->empty()) return print_list(all);
        const auto found = std::ranges::find(all, *name, &section::name);
        if (found != all.end()) return print(*found);
        std::string names;
        for (const section& each : all) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
        throw CLI::ValidationError("explain", fmt::format("'{}' is none of {}", *name, names));
    });
}

}  // namespace unibuf_cli
