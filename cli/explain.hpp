// cli/explain.hpp: `unibuf explain` says what an error means, and what to do.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

namespace unibuf_cli {

/// Adds the subcommand, which runs while `app` parses.
void add_explain(CLI::App& app);

// docs/errors.md, of which the tool is built.
extern const std::string_view errors_page;

}  // namespace unibuf_cli
