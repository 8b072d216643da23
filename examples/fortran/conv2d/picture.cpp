// fortran/conv2d/picture.cpp: the photograph, for picture.f90.
#include "conv2d/picture.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "ending.hpp"

namespace {

conv2d::picture& photograph() {
    static conv2d::picture loaded;
    return loaded;
}

}  // namespace

extern "C" {

/// Loads the picture, as wide and high as asked; where that is 0, as it is. The width becomes a multiple of four.
void example_load_picture(const char* path, int* width, int* height) {
    examples::or_end([&] {
        conv2d::picture loaded = conv2d::load(path);
        if (*width == 0) *width = loaded.size.width;
        if (*height == 0) *height = loaded.size.height;
        *width = std::max(4, *width - *width % 4);
        if (loaded.size.width != *width || loaded.size.height != *height) loaded = scaled(loaded, {*width, *height});
        photograph() = std::move(loaded);
    });
}

void example_take_pixels(int count, float* to) {
    photograph().convert(0, std::span(to, static_cast<std::size_t>(count)));
}

}  // extern "C"
