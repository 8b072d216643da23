// cli/output_file.cpp: the file that a subcommand writes, which takes the place of no stranger's.
#include "output_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "unibuf/error.hpp"

namespace unibuf_cli {

void output_file::check(const std::string& trace, const mark& own) const {
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

CLI::Option* add_output(CLI::App& to, output_file& what, const std::string& description) {
    CLI::Option* const result = to.add_option("-o,--output", what.name, description);
    to.add_flag("--force", what.may_replace_any,
                "Replaces whatever file is there; else only one that this command wrote")
        ->disable_flag_override()
        ->needs(result);
    return result;
}

}  // namespace unibuf_cli
