// cli/output.hpp: functions that all subcommands print with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace unibuf_cli {

/// Returns `text`, which may come from a driver, without line breaks and control characters.
std::string one_line(std::string_view text);

/// Returns a size as people read it: "15.6 GiB".
std::string readable_bytes(std::uint64_t bytes);

/// Says of the first bytes of a file that the tool has written it.
struct mark {
    std::size_t at;
    std::string_view text;
};

/// What subcommands that write a file are told about it.
struct output {
    std::string name;
    bool may_replace_any = false;  // also a file that the tool has not written

    /// Throws error(invalid_argument) where the file is the trace that is read, or is there already without the mark
    /// of the tool's own, unless it may be replaced. What is empty, or no file but a device or a pipe, holds nothing
    /// that could be lost.
    void check(const std::string& trace, const mark& own) const;
};

/// Adds -o and --force to a subcommand. Returns the former.
CLI::Option* add_output(CLI::App& to, output& what, const std::string& description);

/// Writes a file by write(std::ostream&). Throws std::system_error where that fails.
void write_file(const std::string& name, const std::function<void(std::ostream&)>& write);

/// Throws std::system_error where what was printed did not arrive, as on a full disk.
void finish_output();

}  // namespace unibuf_cli
