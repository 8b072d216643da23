// tests/doubles/nvrtc/compiler.cpp
#include "doubles/nvrtc/compiler.hpp"

#include <cstdio>
#include <regex>

#include "doubles/compiler.hpp"
#include "doubles/nvrtc/kernel.hpp"

namespace nvrtc_double {
namespace {

/// The source between what CUDA C++ adds and a table of its kernels.
std::string as_cpp(const std::string& source, const std::string& name) {
    std::string result = "#include \"doubles/nvrtc/prelude.hpp\"\n#line 1 \"" + name + "\"\n" + source + "\n";
    static const std::regex declaration(R"(extern\s+"C"\s+__global__\s+void\s+(\w+)\s*\()");
    for (std::sregex_iterator each(source.begin(), source.end(), declaration), end; each != end; ++each) {
        const std::string kernel = (*each)[1];
        result += "extern \"C\" __attribute__((visibility(\"default\"))) const nvrtc_double::kernel ";
        result += kernel_prefix + kernel + " = nvrtc_double::compiled<&" + kernel + ">::value;\n";
    }
    return result;
}

std::string image_of(const std::string& library) {
    char line[100];
    std::snprintf(line, sizeof line, image_line, library.size());
    return line + library;
}

}  // namespace

compiled_source compile(const std::string& source, const std::string& name) {
    doubles::compiled got = doubles::compile(as_cpp(source, name), {UNIBUF_KERNEL_INCLUDES});
    compiled_source result{.done = got.done, .log = std::move(got.log), .image = {}};
    if (result.done) result.image = image_of(got.library);
    return result;
}

}  // namespace nvrtc_double
