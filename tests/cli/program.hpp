// tests/cli/program.hpp: runs the programs of this build as a user does.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace unibuf::cli {

struct outcome {
    int status = -1;  // 128 and the signal's number, of a program that one has ended
    std::string out;
    std::string err;
};

inline std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// A folder of its own for each test, gone after it.
class scratch {
public:
    scratch() {
        std::string name = (std::filesystem::temp_directory_path() / "unibuf-test-XXXXXX").string();
        if (!::mkdtemp(name.data())) ADD_FAILURE() << "no folder " << name;
        folder_ = name;
    }
    ~scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;

    std::string file(const std::string& name) const { return (folder_ / name).string(); }

    std::vector<std::string> files() const {
        std::vector<std::string> result;
        for (const auto& each : std::filesystem::directory_iterator(folder_)) {
            result.push_back(each.path().filename().string());
        }
        std::ranges::sort(result);
        return result;
    }

private:
    std::filesystem::path folder_;
};

/// Runs `program`, a path in the build folder or an absolute one, with these variables added to the environment.
inline outcome run(const std::string& program, std::vector<std::string> arguments,
                   const std::vector<std::pair<std::string, std::string>>& variables = {}, std::string out = {}) {
    const scratch streams;
    if (out.empty()) out = streams.file("out");
    const std::string err = streams.file("err");
    std::string path = (std::filesystem::path(UNIBUF_BUILD_DIR) / program).string();

    std::vector<std::string> environment;
    for (char** each = ::environ; *each; ++each) {
        const std::string line = *each;
        const auto same = [&](const auto& variable) { return line.starts_with(variable.first + "="); };
        if (std::ranges::none_of(variables, same)) environment.push_back(line);
    }
    for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
    const auto pointers = [](std::vector<std::string>& of) {
        std::vector<char*> result;
        for (std::string& each : of) result.push_back(each.data());
        result.push_back(nullptr);
        return result;
    };
    arguments.insert(arguments.begin(), path);

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
    ::posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
    pid_t child = 0;
    const int failed = ::posix_spawn(&child, path.c_str(), &actions, nullptr, pointers(arguments).data(),
                                     pointers(environment).data());
    ::posix_spawn_file_actions_destroy(&actions);
    outcome result;
    if (failed != 0) {
        ADD_FAILURE() << path << " does not run";
        return result;
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = std::filesystem::is_regular_file(out) ? text_of(out) : "";
    result.err = text_of(err);
    return result;
}

/// An error as users should see it: a status of its own, and one line that begins with the program's name and holds
/// `says`.
inline void expect_one_clear_line(const outcome& got, const std::string& program, const std::string& says) {
    EXPECT_GT(got.status, 0);
    EXPECT_LT(got.status, 126) << "it crashed";
    EXPECT_TRUE(got.err.starts_with(program + ": ")) << got.err;
    EXPECT_EQ(std::ranges::count(got.err, '\n'), 1) << got.err;
    EXPECT_TRUE(got.err.ends_with('\n')) << got.err;
    EXPECT_NE(got.err.find(says), std::string::npos) << "no '" << says << "' in: " << got.err;
}

}  // namespace unibuf::cli
