// conv2d/picture.hpp: a grey picture, read from files and written to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "filter.hpp"

namespace conv2d {

struct extent {
    int width = 0;
    int height = 0;

    std::size_t pixels() const noexcept { return static_cast<std::size_t>(width) * static_cast<std::size_t>(height); }
};

/// A picture of luminance, a byte a pixel, row by row.
struct picture {
    extent size;
    std::vector<std::uint8_t> pixels;

    /// Writes pixels from `first` on where the application wants them: one float a pixel, black 0, white 1.
    void convert(std::size_t first, std::span<float> to) const noexcept;
};

/// Reads what stb_image knows: JPEG, PNG, BMP and others. Throws std::runtime_error.
picture load(const std::filesystem::path& file);

/// Scales a picture until it covers `size`, and cuts off what is left over at two sides.
picture scaled(const picture& from, extent size);

/// Returns what `by` made of a picture, as one can see it: where the filter's weights cancel out, the absolute values,
/// scaled.
picture visible(std::span<const float> result, extent size, const filter& by);

/// Writes a PNG. Throws std::runtime_error.
void save(const picture& what, const std::filesystem::path& file);

}  // namespace conv2d
