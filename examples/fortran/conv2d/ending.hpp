// fortran/conv2d/ending.hpp: how a C++ function that Fortran calls fails.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace examples {

/// Ends the program where `work` throws, as no exception may reach Fortran. The program has asked before for what a
/// machine may lack, so there is nothing to go on with.
template <class Work>
auto or_end(const Work& work) {
    try {
        return work();
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "conv2d_fortran: %s\n", failure.what());
        std::exit(1);
    }
}

}  // namespace examples
