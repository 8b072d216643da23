// common/arguments.cpp
#include "common/arguments.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace examples {

struct arguments::parser {
    CLI::App app;
};

arguments::arguments(const std::string& about) : parser_(new parser{CLI::App(about)}) {}

arguments::~arguments() = default;

void arguments::flag(const std::string& name, bool& value, const std::string& about) {
    parser_->app.add_flag(name, value, about);
}

void arguments::number(const std::string& name, const std::string& usual, std::int64_t least, std::int64_t most,
                       const std::string& about, std::function<void(std::int64_t)> take) {
    parser_->app.add_option_function<std::int64_t>(name, std::move(take), about)
        ->check(CLI::Range(least, most))
        ->default_str(usual);
}

void arguments::number(const std::string& name, std::optional<std::uint64_t>& value, const std::string& about) {
    parser_->app.add_option(name, value, about);
}

void arguments::text(const std::string& name, std::string& value, const std::string& about, const std::string& form,
                     std::function<std::string(const std::string&)> fault_of) {
    CLI::Option* const made = parser_->app.add_option(name, value, about)->type_name(form)->capture_default_str();
    if (fault_of) made->check(std::move(fault_of));
}

void arguments::required_text(const std::string& name, std::string& value, const std::string& about,
                              const std::string& form) {
    parser_->app.add_option(name, value, about)->required()->type_name(form);
}

void arguments::choice(const std::string& name, std::string& value, const std::vector<std::string>& of,
                       const std::string& about) {
    parser_->app.add_option(name, value, about)->check(CLI::IsMember(of))->capture_default_str();
}

std::optional<int> arguments::read(int argc, const char* const* argv) {
    constexpr int usage_error = 2;
    try {
        parser_->app.parse(argc, argv);
    } catch (const CLI::Success& help) {
        return parser_->app.exit(help);
    } catch (const CLI::ParseError& nonsense) {
        const std::string program = std::filesystem::path(argv[0]).filename();
        std::fprintf(stderr, "%s: %s\n", program.c_str(), nonsense.what());
        return usage_error;
    }
    return std::nullopt;
}

}  // namespace examples
