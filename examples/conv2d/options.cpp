// conv2d/options.cpp: the command line.
#include "options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "common/arguments.hpp"

namespace conv2d {
namespace {

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
    made.repeat = 10;
    std::string picture, output, json, size;
    std::string space = "all";
    std::string how = "all";
    std::string by = "edge";
    examples::arguments told(
        "Convolves a picture on the host, CUDA, Metal, OpenCL and OpenGL: copying against zero-copy.");
    told.required_text("--picture", picture, "What to convolve", "FILE");
    told.text("--output", output, "Where to write the picture after, and the one before beside it", "FILE.png",
              check_output);
    told.text("--space", space, "host, cuda:0, metal:0, opencl:0, opengl:0 or all of them");
    told.choice("--mode", how, {"copying", "careful", "zero-copy", "all"}, "How bytes reach the device");
    told.choice("--filter", by, names_of_filters(), "What to do");
    told.text("--size", size, "Scales the picture first", "WIDTHxHEIGHT", check_size);
    told.number("--repeat", made.repeat, 1, 1'000'000, "How often each is timed");
    told.text("--json", json, "Where to write the table", "FILE");
    if (const auto ends = told.read(argc, argv)) {
        status = *ends;
        return std::nullopt;
    }
    made.picture = picture;
    made.output = output;
    made.json = json;
    made.any_space = space == "all";
    made.spaces = made.any_space ? std::vector<std::string>{"host", "cuda:0", "metal:0", "opencl:0", "opengl:0"}
                                 : std::vector{space};
    made.modes = modes_named(how);
    made.by = &filter_named(by);
    if (!size.empty()) made.size = to_extent(size);
    return made;
}

}  // namespace conv2d
