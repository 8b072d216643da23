// conv2d/options.hpp: what the program was asked for.
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
    bool any_space = false;  // those that are missing are not an error
    std::vector<mode> modes;
    const filter* by = nullptr;
    std::optional<extent> size;  // of the picture itself, if nothing
    int repeat = 0;

    /// Where the picture before goes: beside the one after.
    std::filesystem::path before() const;
};

/// The longest side of a picture.
inline constexpr int longest_side = 16384;

/// Nothing where it is said that the program should end, with `status`: help was asked for, or nonsense was.
std::optional<options> parse(int argc, char** argv, int& status);

}  // namespace conv2d
