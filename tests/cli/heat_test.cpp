// tests/cli/heat_test.cpp: the plate is right, and only the edge moves.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "tracking/watch.hpp"

namespace unibuf::cli::heat_test {
namespace {

TEST(heat, moves_the_edge_that_the_host_has_written) {
    const outcome got = run("examples/heat", {"--width", "1024", "--rows", "64", "--steps", "12", "--json"});
    if (got.err.find("is not available") != std::string::npos) GTEST_SKIP() << got.err;
    ASSERT_EQ(got.status, 0) << got.err;
    const auto runs = nlohmann::json::parse(got.out);
    const double found = runs.at(0).at("bytes_per_step");
    const double whole = runs.at(1).at("bytes_per_step");
    EXPECT_GE(whole, 2 * 62 * 4096.0);
    if (!tracking::about().finds_writes) GTEST_SKIP() << tracking::about().description;
    EXPECT_EQ(found, 4096.0);
}

TEST(heat, says_where_it_cannot_run) {
    const outcome got = run("examples/heat", {"--space", "debug:0", "--rows", "5"});
    EXPECT_EQ(got.status, 1);
    EXPECT_NE(got.err.find("debug:0 is no OpenCL space"), std::string::npos) << got.err;
}

}  // namespace
}  // namespace unibuf::cli::heat_test
