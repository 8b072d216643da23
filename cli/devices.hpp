// cli/devices.hpp: `unibuf devices` shows every space, what its memory can do, and why a missing one is missing.
#pragma once

#include <CLI/CLI.hpp>

namespace unibuf_cli {

/// Adds the subcommand, which runs while `app` parses.
void add_devices(CLI::App& app);

}  // namespace unibuf_cli
