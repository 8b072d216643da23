// tests/cli/conv2d_metal_test.cpp: the example on Metal: on the double, so on any machine; on macOS on the real one.
#include <cstdlib>

#include "cli/conv2d_fixture.hpp"

namespace unibuf::cli::conv2d_metal_test {
namespace {

class conv2d_on_metal : public conv2d, public testing::WithParamInterface<const char*> {
protected:
    void SetUp() override {
        conv2d::SetUp();
        const char* const others = std::getenv("LD_LIBRARY_PATH");
        variables_.emplace_back("LD_LIBRARY_PATH", std::string(UNIBUF_DOUBLES_DIR) + ":" + (others ? others : ""));
    }
};

TEST_P(conv2d_on_metal, is_right_in_every_mode_and_zero_copy_copies_nothing) {
    expect_copies_of("metal:0", GetParam());
}

INSTANTIATE_TEST_SUITE_P(filters, conv2d_on_metal, testing::Values("edge", "blur", "sharpen"),
                         [](const auto& of) { return std::string(of.param); });

TEST_F(conv2d_on_metal, moves_only_what_changed_where_the_gpu_has_memory_of_its_own) {
    variables_.emplace_back("UNIBUF_METAL_DOUBLE_UNIFIED", "0");
    const outcome got =
        conv2d_with({"--space", "metal:0", "--mode", "zero-copy", "--json", folder_.file("table.json")});
    ASSERT_EQ(got.status, 0) << got.err;
    constexpr int row = width * static_cast<int>(sizeof(float));
    EXPECT_EQ(table()[0].at("bytes_copied"), row * (1 + height));  // the first line there, the result back
}

}  // namespace
}  // namespace unibuf::cli::conv2d_metal_test
