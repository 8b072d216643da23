// conv2d/options.hpp: the options of the program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "conv2d.hpp"

namespace conv2d {

struct options {
    std::filesystem::path picture;
    std::filesystem::path output;  // empty: no pictures are written
    std::filesystem::path json;    // empty: no JSON is written
    std::vector<std::string> spaces;
    bool any_space = false;  // spaces that are missing are not an error
    std::vector<mode> modes;
    const filter* by = nullptr;
    std::optional<extent> size;  // the picture's own size where there is none
    int repeat = 0;

    /// Returns where the picture before goes: beside the one after.
    std::filesystem::path before() const;
};

/// A side of a picture has at most so many pixels.
inline constexpr int longest_side = 16384;

/// Returns nothing where the program should end, with `status`: help was asked for, or nonsense was.
std::optional<options> parse(int argc, char** argv, int& status);

}  // namespace conv2d
