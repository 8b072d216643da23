// cli/lines.hpp: the lines of a program's source that its addresses belong to.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace unibuf_cli {

/// Puts file and line before each place of the form "function at program+0x1234", where the program is still there, has
/// debugging information (-g), and addr2line, of binutils or LLVM, is on PATH. Others stay as they are.
void find_lines(std::map<std::uint64_t, std::string>& places);

}  // namespace unibuf_cli
