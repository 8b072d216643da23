// cli/doctor.hpp: `unibuf doctor` says what a program could do better.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace unibuf_cli {

/// Adds the subcommand, which runs while `app` parses. `program`, with its arguments, is what it is to run; where it is
/// empty, the subcommand reads a trace.
void add_doctor(CLI::App& app, const std::vector<std::string>& program);

}  // namespace unibuf_cli
