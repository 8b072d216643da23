// cli/lines.hpp: the lines of a program's source that its addresses belong to.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "unibuf/trace.hpp"

namespace unibuf_cli {

/// Puts file and line before each place of the form "function at program+0x1234", where the program is still there, has
/// debugging information (-g), and addr2line, of binutils or LLVM, is on PATH. Others stay as they are.
void find_lines(std::map<std::uint64_t, std::string>& places);

/// Returns what a file holds, with the lines of the program where they can be found.
unibuf::trace_file trace_with_lines(const std::string& file);

}  // namespace unibuf_cli
