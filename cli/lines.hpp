// cli/lines.hpp: the lines of a program's source that its addresses belong to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "unibuf/trace.hpp"

namespace unibuf_cli {

/// Puts file and line before each place of the form "function at program+0x1234", where the program is still there, has
/// debugging information (-g), and addr2line, of binutils or LLVM, is on PATH. Others stay as they are. Returns those
/// that no trace of unibuf's has, as they name no address, or what is no program.
std::vector<std::string> find_lines(std::map<std::uint64_t, std::string>& places);

/// Returns what a file holds, with the lines of the program where they can be found. Says on stderr which places are no
/// places.
unibuf::trace_file trace_with_lines(const std::string& file);

}  // namespace unibuf_cli
