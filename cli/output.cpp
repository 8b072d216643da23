// cli/output.cpp
#include "output.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "unibuf/error.hpp"

namespace unibuf_cli {

std::string one_line(std::string_view text) {
    std::string result(text);
    std::ranges::replace_if(result, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    return result;
}

std::string readable_bytes(std::uint64_t bytes) {
    static constexpr std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) return fmt::format("{} B", bytes);
    double amount = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    while (amount >= 1023.95 && unit + 1 < units.size()) {  // the next unit takes over where 1024.0 would be shown
        amount /= 1024;
        ++unit;
    }
    return fmt::format("{:.1f} {}", amount, units[unit]);
}

void output::check(const std::string& trace, const mark& own) const {
    std::error_code ignored;
    const auto refuse = [&](const std::string& why) {
        throw unibuf::error(unibuf::error_code::invalid_argument, fmt::format("{} {}", name, why));
    };
    if (std::filesystem::equivalent(trace, name, ignored)) refuse("is the trace itself");
    if (may_replace_any || !std::filesystem::is_regular_file(name, ignored)) return;
    std::string first(own.at + own.text.size(), '\0');
    std::ifstream in(name, std::ios::binary);
    in.read(first.data(), static_cast<std::streamsize>(first.size()));
    if (in.gcount() == 0 && in.eof()) return;
    if (first.substr(own.at) == own.text) return;
    refuse("is there already, and this command has not written it: choose another name, or replace it with --force");
}

CLI::Option* add_output(CLI::App& to, output& what, const std::string& description) {
    CLI::Option* const result = to.add_option("-o,--output", what.name, description);
    to.add_flag("--force", what.may_replace_any,
                "Replaces whatever file is there; else only one that this command wrote")
        ->disable_flag_override()
        ->needs(result);
    return result;
}

void write_file(const std::string& name, const std::function<void(std::ostream&)>& write) {
    errno = 0;
    std::ofstream out(name, std::ios::binary);
    write(out);
    out.close();
    if (!out) throw std::system_error(errno, std::generic_category(), name);
}

void finish_output() {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
    throw std::system_error(errno, std::generic_category(), "the output could not be written");
}

}  // namespace unibuf_cli
