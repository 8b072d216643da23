// conv2d/options.cpp: the command line.
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace conv2d {
namespace {

constexpr int usage_error = 2;

std::optional<extent> to_extent(std::string_view text) {
    extent size;
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const auto width = std::from_chars(begin, end, size.width);
    if (width.ec != std::errc() || width.ptr == end || *width.ptr != 'x') return std::nullopt;
    const auto height = std::from_chars(width.ptr + 1, end, size.height);
    if (height.ec != std::errc() || height.ptr != end) return std::nullopt;
    const auto sensible = [](int side) { return side >= 1 && side <= longest_side; };
    return sensible(size.width) && sensible(size.height) ? std::optional(size) : std::nullopt;
}

std::string check_size(const std::string& text) {
    if (to_extent(text)) return {};
    return fmt::format("'{}' is not WIDTHxHEIGHT, each from 1 to {}", text, longest_side);
}

std::string check_output(const std::string& text) {
    if (std::filesystem::path(text).extension() == ".png") return {};
    return fmt::format("'{}' does not end in .png, and pictures are written as PNG", text);
}

std::vector<std::string> names_of_filters() {
    std::vector<std::string> names;
    for (const filter& each : filters()) names.emplace_back(each.name);
    return names;
}

std::vector<mode> modes_named(std::string_view name) {
    std::vector<mode> result;
    for (const mode each : {mode::copying, mode::careful, mode::zero_copy}) {
        if (name == "all" || name == to_string(each)) result.push_back(each);
    }
    return result;
}

}  // namespace

std::filesystem::path options::before() const {
    return output.parent_path() / (output.stem().string() + "-before" + output.extension().string());
}

std::optional<options> parse(int argc, char** argv, int& status) {
    options made;
    std::string space = "all";
    std::string how = "all";
    std::string by = "edge";
    std::string size;
    made.repeat = 10;

    CLI::App app("Convolves a picture on the host, CUDA, Metal, OpenCL and OpenGL: copying against zero-copy.",
                 "conv2d");
    app.add_option("--picture", made.picture, "What to convolve")->required()->type_name("FILE");
    app.add_option("--output", made.output, "Where to write the picture after, and the one before beside it")
        ->type_name("FILE.png")
        ->check(check_output);
    app.add_option("--space", space, "host, cuda:0, metal:0, opencl:0, opengl:0 or all of them")->capture_default_str();
    app.add_option("--mode", how, "How bytes reach the device")
        ->check(CLI::IsMember({"copying", "careful", "zero-copy", "all"}))
        ->capture_default_str();
    app.add_option("--filter", by, "What to do")->check(CLI::IsMember(names_of_filters()))->capture_default_str();
    app.add_option("--size", size, "Scales the picture first")->type_name("WIDTHxHEIGHT")->check(check_size);
    app.add_option("--repeat", made.repeat, "How often each is timed")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--json", made.json, "Where to write the table")->type_name("FILE");
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& help) {
        status = app.exit(help);
        return std::nullopt;
    } catch (const CLI::ParseError& nonsense) {
        fmt::print(stderr, "conv2d: {}\n", nonsense.what());
        status = usage_error;
        return std::nullopt;
    }
    made.any_space = space == "all";
    made.spaces = made.any_space ? std::vector<std::string>{"host", "cuda:0", "metal:0", "opencl:0", "opengl:0"}
                                 : std::vector{space};
    made.modes = modes_named(how);
    made.by = &filter_named(by);
    if (!size.empty()) made.size = to_extent(size);
    return made;
}

}  // namespace conv2d
