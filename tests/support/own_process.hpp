// support/own_process.hpp: a test that needs a process in which nothing has happened yet.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace unibuf::test {

/// Returns whether the test runs in the process that run_alone made, with this value of `variable`.
inline bool is_alone(const char* variable, std::string_view value) {
    const char* const found = std::getenv(variable);
    return found && found == value;
}

/// Runs the current test again in a new process, with an environment variable, and expects it to pass there.
inline void run_alone(const char* variable, const char* value) {
    const auto& current = *::testing::UnitTest::GetInstance()->current_test_info();
    const std::string filter = std::string("--gtest_filter=") + current.test_suite_name() + "." + current.name();
    const pid_t child = ::fork();
    if (child == 0) {
        ::setenv(variable, value, 1);
        ::unsetenv("GTEST_TOTAL_SHARDS");  // the test may be no part of what the other process is to run
        ::unsetenv("GTEST_SHARD_INDEX");
        ::execl("/proc/self/exe", "alone", filter.c_str(), "--gtest_brief=1", nullptr);
        ::_exit(127);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace unibuf::test
