// tests/doubles/compiler.hpp: what stands in for compilers of GPU code: the compiler that the tests were built with.
#pragma once

#include <string>
#include <vector>

namespace doubles {

struct compiled {
    bool done = false;
    std::string log;
    std::string library;  // the content of its file
};

/// Makes a shared library of C++. Throws std::runtime_error where there is no room for files, or no compiler.
compiled compile(const std::string& source, const std::vector<std::string>& include_folders);

}  // namespace doubles
