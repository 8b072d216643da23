// tests/doubles/nvrtc/compiler.cpp
#include "doubles/nvrtc/compiler.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>
#include <vector>

#include "doubles/nvrtc/kernel.hpp"

namespace nvrtc_double {
namespace {

/// Gone after the compilation, with all that is in it.
class temporary_folder {
public:
    temporary_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "unibuf-nvrtc-XXXXXX").string();
        if (!::mkdtemp(name.data())) throw std::runtime_error("no folder " + name);
        path_ = name;
    }
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    std::string file(const char* name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

std::string text_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

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

bool run(std::vector<std::string> command, const std::string& log) {
    std::vector<char*> arguments;
    for (std::string& each : command) arguments.push_back(each.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child = 0;
    const int failed = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), ::environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("no compiler " + command[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string image_of(const std::string& library) {
    char line[100];
    std::snprintf(line, sizeof line, image_line, library.size());
    return line + library;
}

}  // namespace

compiled_source compile(const std::string& source, const std::string& name) {
    const temporary_folder folder;
    std::ofstream(folder.file("kernel.cpp")) << as_cpp(source, name);
    compiled_source result;
    result.done = run({UNIBUF_KERNEL_COMPILER, "-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-fvisibility=hidden",
                       "-I", UNIBUF_KERNEL_INCLUDES, folder.file("kernel.cpp"), "-o", folder.file("kernel.so")},
                      folder.file("log"));
    result.log = text_of(folder.file("log"));
    if (result.done) result.image = image_of(text_of(folder.file("kernel.so")));
    return result;
}

}  // namespace nvrtc_double
