// cli/output.hpp: functions that all subcommands print with.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace unibuf_cli {

/// Returns `text`, which may come from a driver, without line breaks and control characters.
std::string one_line(std::string_view text);

/// Returns a size as people read it: "15.6 GiB".
std::string readable_bytes(std::uint64_t bytes);

/// Writes a file by write(std::ostream&). Throws std::system_error where that fails.
void write_file(const std::string& name, const std::function<void(std::ostream&)>& write);

/// Throws std::system_error where what was printed did not arrive, as on a full disk.
void finish_output();

}  // namespace unibuf_cli
