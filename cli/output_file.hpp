// cli/output_file.hpp: the file that a subcommand writes, which takes the place of no stranger's.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace unibuf_cli {

/// Says of the first bytes of a file that the tool has written it.
struct mark {
    std::size_t at;
    std::string_view text;
};

/// What subcommands that write a file are told about it.
struct output_file {
    std::string name;
    bool may_replace_any = false;  // also a file that the tool has not written

    /// Throws error(invalid_argument) where the file is the trace that is read, or is there already without the mark
    /// of the tool's own, unless it may be replaced. What is empty, or no file but a device or a pipe, holds nothing
    /// that could be lost.
    void check(const std::string& trace, const mark& own) const;
};

/// Adds -o and --force to a subcommand. Returns the former.
CLI::Option* add_output(CLI::App& to, output_file& what, const std::string& description);

}  // namespace unibuf_cli
