// fortran/halo/picture.cpp: draws the waves, for halo.f90.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "halo/heights.hpp"

extern "C" {

/// Writes a PNG; ends the program where that fails.
void example_draw_heights(const float* heights, int width, int height, const char* path) {
    try {
        const auto size = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
        halo::draw({heights, size}, width, height, path);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "halo_fortran: %s\n", failure.what());
        std::exit(1);
    }
}

}  // extern "C"
