// cli/tool.cpp: each subcommand has a file of its own.
#include "tool.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "devices.hpp"
#include "output.hpp"
#include "trace.hpp"

namespace unibuf_cli {
namespace {

constexpr int failed = 1;
constexpr int nonsense = 2;

int run(int argc, const char* const* argv) {
    CLI::App app("One logical buffer, many memories.", "unibuf");
    app.set_version_flag("--version", "unibuf " UNIBUF_VERSION);
    add_devices(app);
    add_report(app);
    add_why(app);
    add_check(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::RuntimeError& found) {  // a subcommand chose the status
        return found.get_exit_code();
    } catch (const CLI::Success& asked_for) {  // the user asked for help or the version
        return app.exit(asked_for);
    } catch (const CLI::ParseError& wrong) {
        fmt::print(stderr, "unibuf: {} (--help tells what there is)\n", one_line(wrong.what()));
        return nonsense;
    }
    if (!app.get_subcommands().empty()) return 0;
    fmt::print(stderr, "{}", app.help());
    return nonsense;
}

}  // namespace

int run_tool(int argc, const char* const* argv) noexcept {
    try {
        const int status = run(argc, argv);
        finish_output();
        return status;
    } catch (const std::exception& failure) {
        std::fputs("unibuf: ", stderr);
        std::fputs(failure.what(), stderr);
        std::fputs("\n", stderr);
        return failed;
    }
}

}  // namespace unibuf_cli
