// cli/report.cpp: `unibuf report`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "lines.hpp"
#include "output.hpp"
#include "output_file.hpp"
#include "page.hpp"
#include "summary.hpp"
#include "trace.hpp"

namespace unibuf_cli {
namespace {

using unibuf::trace_file;
using unibuf::traffic;

constexpr mark page_mark{.at = 0, .text = "<!doctype html><!-- unibuf report -->"};

/// Returns "12 % declared, 80 % found, 8 % assumed".
std::string writes_text(const traffic& of) {
    const std::uint64_t sum = of.declared + of.found + of.assumed;
    if (sum == 0) return "nothing was written";
    const auto share = [&](std::uint64_t bytes) { return 100 * static_cast<double>(bytes) / static_cast<double>(sum); };
    return fmt::format("{} were written: {:.0f} % declared, {:.0f} % found, {:.0f} % assumed", readable_bytes(sum),
                       share(of.declared), share(of.found), share(of.assumed));
}

void print_headline(const traffic& of) {
    fmt::print("moved / least needed: {} ({} / {})\n", ratio_text(of), readable_bytes(of.moved),
               readable_bytes(of.least));
}

void print_report(const summary& of, std::size_t most) {
    print_headline(of.all);
    fmt::print("{}\n", writes_text(of.all));
    if (!of.untracked.empty()) fmt::print("writes through pointers were not found: {}\n", one_line(of.untracked));
    if (of.routes.empty()) return;
    fmt::print("\n{:>12}  {:>10}  from -> to, for\n", "bytes", "transfers");
    for (const auto& [route, made] : of.routes) {
        fmt::print("{:>12}  {:>10}  {} -> {}, {}\n", readable_bytes(made.bytes), made.transfers,
                   one_line(std::get<0>(route)), one_line(std::get<1>(route)), std::get<2>(route));
    }
    fmt::print("\n{:>12}  {:>12}  {:>6}\n", "moved", "least", "ratio");
    for (std::size_t i = 0; i < std::min(most, of.buffers.size()); ++i) {
        const auto& [id, name, sum] = of.buffers[i];
        fmt::print("{:>12}  {:>12}  {:>6}  {}\n", readable_bytes(sum.moved), readable_bytes(sum.least), ratio_text(sum),
                   one_line(name));
    }
    fmt::print("\n{:>12}  {:>10}  asked for in\n", "bytes", "transfers");
    for (std::size_t i = 0; i < std::min(most, of.sites.size()); ++i) {
        const auto& [site, made] = of.sites[i];
        fmt::print("{:>12}  {:>10}  {}\n", readable_bytes(made.bytes), made.transfers, one_line(site));
    }
}

/// Writes the page, and prints the headline and where the page is.
void write_page(const trace_file& of, const std::string& trace, const std::string& page) {
    write_file(page, [&](std::ostream& out) { out << page_of(of, trace); });
    print_headline(unibuf::traffic_of(of.events));
    fmt::print("{}\n", page);
}

}  // namespace

void add_report(CLI::App& app) {
    CLI::App* const command = app.add_subcommand("report", "What a trace moved, against the least that was needed");
    const auto file = std::make_shared<std::string>();
    command->add_option("file", *file, "A trace: UNIBUF_TRACE=file writes one")->required();
    const auto as_json = std::make_shared<bool>(false);
    CLI::Option* const json = command->add_flag("--json", *as_json, "For programs: an object");
    json->disable_flag_override();
    const auto page = std::make_shared<output_file>();
    add_output(*command, *page, "Writes a page for a browser, with charts and findings")->excludes(json);
    const auto most = std::make_shared<std::size_t>(10);
    command->add_option("--most", *most, "So many buffers and places at most")->capture_default_str();
    command->final_callback([=] {
        if (!page->name.empty()) page->check(*file, page_mark);
        const trace_file read = trace_with_lines(*file);
        if (!page->name.empty()) return write_page(read, *file, page->name);
        *as_json ? fmt::print("{}\n", text_of(to_json(summary(read)))) : print_report(summary(read), *most);
    });
}

}  // namespace unibuf_cli
