// doubles/metal/library.cpp
#include "doubles/metal/library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

#include "doubles/compiler.hpp"
#include "doubles/metal/counts.hpp"
#include "doubles/metal/kernel.hpp"
#include "doubles/metal/stop.hpp"

namespace metal_double {
namespace {

/// The source between what Metal adds to C++ and a table of its kernels.
std::string as_cpp(const std::string& source) {
    std::string result = "#include \"doubles/metal/prelude.hpp\"\n#line 1 \"program_source\"\n" + source + "\n";
    result += "#include \"doubles/metal/prelude_end.hpp\"\n";
    static const std::regex declaration(R"(kernel\s+void\s+(\w+)\s*\()");
    for (std::sregex_iterator each(source.begin(), source.end(), declaration), end; each != end; ++each) {
        const std::string name = (*each)[1];
        result += "extern \"C\" __attribute__((visibility(\"default\"))) const metal_double::compiled_kernel ";
        result += kernel_prefix + name + " = metal_double::compiled<&" + name + ">::value;\n";
    }
    return result;
}

std::string text_in(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// Returns where a compiled library is kept, by all that it is made of: each process of the tests would compile the
/// same ones. Users who may not write into the build folder name another one.
std::filesystem::path file_for(const std::string& source) {
    const std::filesystem::path parts = std::filesystem::path(UNIBUF_KERNEL_INCLUDES) / "doubles" / "metal";
    const std::string all = source + text_in(parts / "prelude.hpp") + text_in(parts / "kernel.hpp");
    const char* const named = std::getenv("UNIBUF_KERNEL_CACHE");
    return std::filesystem::path(named ? named : UNIBUF_KERNEL_CACHE) /
           ("metal-" + std::to_string(std::hash<std::string>()(all)) + ".so");
}

class library final : public object {
public:
    static const type about;
    explicit library(void* loaded) : object(about), loaded_(loaded) {}

    static object* function(library* self, selector*, object* name) {
        if (call_fails()) return nullptr;
        const std::string symbol = kernel_prefix + text_of(name);
        const auto* const found = static_cast<const compiled_kernel*>(::dlsym(self->loaded_, symbol.c_str()));
        return found ? new kernel_function(found->run, found->buffers, found->are_written) : nullptr;
    }

private:
    void* loaded_;  // for as long as the process lives
};

const type library::about{"MTLLibrary", {{"newFunctionWithName:", method_of(&library::function)}}};

}  // namespace

const type kernel_function::about{"MTLComputePipelineState", {}};

void kernel_function::run(const std::vector<void*>& buffers, grid_size threads) const {
    if (buffers.size() != buffers_) stop("a kernel of %zu buffers is run with %zu", buffers_, buffers.size());
    run_(buffers.data(), threads);
}

object* compiled_library(const std::string& source, object** error) {
    const std::string text = as_cpp(source);
    const std::filesystem::path file = file_for(text);
    if (!std::filesystem::exists(file)) {
        const doubles::compiled got = doubles::compile(text, {UNIBUF_KERNEL_INCLUDES, UNIBUF_KERNEL_HEADERS});
        if (!got.done) {
            if (error) *error = autoreleased(new_error(3, got.log));
            return nullptr;
        }
        const std::filesystem::path mine = file.string() + "." + std::to_string(::getpid());
        std::ofstream(mine, std::ios::binary) << got.library;
        std::filesystem::rename(mine, file);
    }
    void* const loaded = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!loaded) stop("a compiled library is not loaded: %s", ::dlerror());
    return new library(loaded);
}

}  // namespace metal_double
