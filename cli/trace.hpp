// cli/trace.hpp: `unibuf report`, `unibuf why` and `unibuf check` say what is in a trace.
#pragma once

#include <CLI/CLI.hpp>

namespace unibuf_cli {

// Each adds a subcommand, which runs while `app` parses.
void add_report(CLI::App& app);
void add_why(CLI::App& app);
void add_check(CLI::App& app);

}  // namespace unibuf_cli
