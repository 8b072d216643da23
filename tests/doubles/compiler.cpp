// tests/doubles/compiler.cpp
#include "doubles/compiler.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace doubles {
namespace {

/// Gone after the compilation, with all that is in it.
class temporary_folder {
public:
    temporary_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "unibuf-double-XXXXXX").string();
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

}  // namespace

compiled compile(const std::string& source, const std::vector<std::string>& include_folders) {
    const temporary_folder folder;
    std::ofstream(folder.file("kernel.cpp")) << source;
    std::vector<std::string> command{UNIBUF_KERNEL_COMPILER,
                                     "-std=c++17",
                                     "-O1",
                                     "-w",
                                     "-fPIC",
                                     "-shared",
                                     "-fvisibility=hidden",
                                     folder.file("kernel.cpp"),
                                     "-o",
                                     folder.file("kernel.so")};
    for (const std::string& each : include_folders) command.insert(command.end(), {"-I", each});
    compiled result;
    result.done = run(std::move(command), folder.file("log"));
    result.log = text_of(folder.file("log"));
    if (result.done) result.library = text_of(folder.file("kernel.so"));
    return result;
}

}  // namespace doubles
