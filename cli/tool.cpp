// cli/tool.cpp: each subcommand has a file of its own.
#include "tool.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "devices.hpp"
#include "doctor.hpp"
#include "explain.hpp"
#include "export.hpp"
#include "output.hpp"
#include "trace.hpp"

namespace unibuf_cli {
namespace {

constexpr int failed = 1;
constexpr int nonsense = 2;

int run(int argc, const char* const* argv) {
    // Behind -- is the program that the doctor runs, with options of its own.
    std::vector<std::string> program;
    if (argc > 1 && std::string_view(argv[1]) == "doctor") {
        const auto* const dashes = std::find(argv + 1, argv + argc, std::string_view("--"));
        if (dashes != argv + argc) program.assign(dashes + 1, argv + argc);
        argc = static_cast<int>(dashes - argv);
    }
    CLI::App app("One logical buffer, many memories.", "unibuf");
    app.set_version_flag("--version", "unibuf " UNIBUF_VERSION);
    add_devices(app);
    add_report(app);
    add_why(app);
    add_check(app);
    add_doctor(app, program);
    add_export(app);
    add_explain(app);
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
