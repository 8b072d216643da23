// tests/cli/tools_test.cpp: other tools are told of transfers, where the environment names them.
#include "cli/program.hpp"

namespace unibuf::cli::tools_test {
namespace {

std::size_t count(const std::string& text, const std::string& of) {
    std::size_t result = 0;
    for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++result;
    return result;
}

const std::string listener = std::string(UNIBUF_DOUBLES_DIR) + "/libnvToolsExt.so.1";

TEST(a_tool_for_kokkos, is_told_of_copies_and_allocations) {
    const outcome got = run("tests/faults", {"unread_copy"}, {{"UNIBUF_KOKKOS_TOOLS", listener}});
    ASSERT_EQ(got.status, 0) << got.err;
    EXPECT_TRUE(got.err.starts_with("init 0, 1, 0\n")) << got.err;
    EXPECT_TRUE(got.err.ends_with("finalize\n")) << got.err;
    const std::string buffer = "(unibuf buffer #1)";
    EXPECT_EQ(count(got.err, "begin debug:0 " + buffer + " <- host " + buffer + ": 400000, 1\n"), 1u) << got.err;
    EXPECT_EQ(count(got.err, "begin host " + buffer + " <- debug:0 " + buffer + ": 400000, 1\n"), 10u) << got.err;
    EXPECT_EQ(count(got.err, "\nend\n"), 11u);
    for (const char* const space : {"host ", "debug:0 "}) {
        EXPECT_EQ(count(got.err, "allocate " + (space + buffer) + ": 400000, 1\n"), 1u) << got.err;
        EXPECT_EQ(count(got.err, "free " + (space + buffer) + ": 400000\n"), 1u) << got.err;
    }
}

TEST(a_tool_for_kokkos, that_is_missing_is_told_and_the_program_goes_on) {
    const outcome got = run("tests/faults", {"unread_copy"}, {{"UNIBUF_KOKKOS_TOOLS", "/nonexistent.so;" + listener}});
    EXPECT_EQ(got.status, 0);
    EXPECT_TRUE(got.err.starts_with("unibuf: UNIBUF_KOKKOS_TOOLS: /nonexistent.so: ")) << got.err;
    EXPECT_EQ(count(got.err, "\nend\n"), 11u);
}

TEST(nvtx, has_a_range_for_each_transfer) {
    const outcome got =
        run("tests/faults", {"unread_copy"}, {{"UNIBUF_NVTX", "1"}, {"LD_LIBRARY_PATH", UNIBUF_DOUBLES_DIR}});
    ASSERT_EQ(got.status, 0) << got.err;
    EXPECT_TRUE(got.err.starts_with("push unibuf buffer #1: 400000 bytes, host to debug:0\npop\n")) << got.err;
    EXPECT_EQ(count(got.err, "pop\n"), 11u);
}

TEST(nvtx, is_said_to_be_missing) {
    const outcome got = run("tests/faults", {"unread_copy"}, {{"UNIBUF_NVTX", "1"}, {"LD_LIBRARY_PATH", ""}});
    EXPECT_EQ(got.status, 0);
    if (got.err.find("UNIBUF_NVTX") == std::string::npos) GTEST_SKIP() << "this machine has NVTX";
    EXPECT_TRUE(got.err.starts_with("unibuf: UNIBUF_NVTX: libnvToolsExt.so")) << got.err;
}

TEST(no_tool, is_told_where_none_is_named) { EXPECT_EQ(run("tests/faults", {"unread_copy"}).err, ""); }

}  // namespace
}  // namespace unibuf::cli::tools_test
