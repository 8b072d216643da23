// tests/cli/doctor_cuda_test.cpp: what the doctor tells of programs that use CUDA: on the double of the driver.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace unibuf::cli::doctor_cuda_test {
namespace {

outcome examine(std::vector<std::string> arguments) {
    const std::string program = (std::filesystem::path(UNIBUF_BUILD_DIR) / "tests/faults").string();
    arguments.insert(arguments.begin(), {"doctor", "--json", "--", program});
    return run("cli/unibuf", arguments, {{"LD_LIBRARY_PATH", UNIBUF_DOUBLES_DIR}});
}

TEST(the_doctor_on_cuda, finds_memory_that_could_be_pinned) {
    const outcome got = examine({"pageable"});
    ASSERT_EQ(got.status, 3) << got.err;
    const auto found = nlohmann::json::parse(got.out).at("findings");
    ASSERT_EQ(found.size(), 1) << got.out;
    EXPECT_EQ(found.at(0).at("kind"), "pageable");
    EXPECT_EQ(found.at(0).at("bytes"), 10 * 4 * 100'000 * sizeof(float));
}

TEST(the_doctor_on_cuda, says_nothing_of_pinned_memory) {
    const outcome got = examine({"pageable", "mended"});
    EXPECT_EQ(got.status, 0) << got.err << got.out;
}

}  // namespace
}  // namespace unibuf::cli::doctor_cuda_test
