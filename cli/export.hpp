// cli/export.hpp: `unibuf export` writes a trace in the formats of other tools.
#pragma once

#include <CLI/CLI.hpp>

namespace unibuf_cli {

/// Adds the subcommand, which runs while `app` parses.
void add_export(CLI::App& app);

}  // namespace unibuf_cli
