// tool.hpp: the command-line tool as a function, for the program `unibuf` and for `python -m unibuf`.
#pragma once

namespace unibuf_cli {

/// Does what the arguments ask, as a program does: `argv[0]` is its name and `argv[argc]` is null. Returns the exit
/// status: 0, 1 where it failed, 2 where the arguments make no sense.
int run_tool(int argc, const char* const* argv) noexcept;

}  // namespace unibuf_cli
