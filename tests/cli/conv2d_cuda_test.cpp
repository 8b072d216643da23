// tests/cli/conv2d_cuda_test.cpp: the example on CUDA: on the doubles of the driver and of NVRTC, so on any machine.
//
// With UNIBUF_REAL_CUDA=1 it runs on what the machine has.
#include <cstdlib>

#include "cli/conv2d_fixture.hpp"
#include "unibuf/error.hpp"
#include "unibuf/space.hpp"

namespace unibuf::cli::conv2d_cuda_test {
namespace {

class conv2d_on_cuda : public conv2d {
protected:
    void SetUp() override {
        conv2d::SetUp();
        if (!wants_real_driver()) {
            find_libraries_in(UNIBUF_DOUBLES_DIR);
            set("UNIBUF_CUDA_DOUBLE_VERSION", "13000");  // whose NVRTC is there
            return;
        }
        try {
            const space there("cuda:0");
        } catch (const error& missing) {
            GTEST_SKIP() << missing.what();
        }
        const outcome got = conv2d_with({"--space", "cuda:0", "--mode", "careful", "--size", "1x1"});
        if (got.err.find("there is no NVRTC") != std::string::npos) GTEST_SKIP() << got.err;
    }

    static bool wants_real_driver() {
        const char* const chosen = std::getenv("UNIBUF_REAL_CUDA");
        return chosen && *chosen == '1';
    }

    /// Before all others.
    void find_libraries_in(const std::string& folder) {
        const char* const others = std::getenv("LD_LIBRARY_PATH");
        libraries_ = folder + ":" + (libraries_.empty() ? std::string(others ? others : "") : libraries_);
        set("LD_LIBRARY_PATH", libraries_);
    }

    void set(const std::string& name, const std::string& value) {
        std::erase_if(variables_, [&](const auto& each) { return each.first == name; });
        variables_.emplace_back(name, value);
    }

    /// Found first, and no library.
    void spoil(const arguments& libraries) {
        for (const std::string& each : libraries) std::ofstream(folder_.file(each)) << "no library";
        find_libraries_in(folder_.file(""));
    }

private:
    std::string libraries_;
};

class conv2d_on_cuda_by_filter : public conv2d_on_cuda, public testing::WithParamInterface<const char*> {};

TEST_P(conv2d_on_cuda_by_filter, is_right_in_every_mode_and_zero_copy_copies_nothing) {
    expect_copies_of("cuda:0", GetParam());
}

INSTANTIATE_TEST_SUITE_P(filters, conv2d_on_cuda_by_filter, testing::Values("edge", "blur", "sharpen"),
                         [](const auto& of) { return std::string(of.param); });

TEST_F(conv2d_on_cuda, makes_what_the_host_makes) {
    for (const char* const size : {"1x1", "1x100", "200x1", "131x67"}) {
        arguments given = {"--mode", "zero-copy", "--filter", "sharpen", "--size", size, "--space"};
        std::vector<std::string> results;
        for (const char* const space : {"host", "cuda:0"}) {
            arguments all = given;
            const std::string file = folder_.file("out.png");
            all.insert(all.end(), {space, "--output", file});
            const outcome got = conv2d_with(all);
            ASSERT_EQ(got.status, 0) << size << ": " << got.err;
            results.push_back(text_of(file));
        }
        EXPECT_EQ(results[0], results[1]) << size;
    }
}

/// PTX of a newer compiler is refused by the driver; code for the card itself is not.
TEST_F(conv2d_on_cuda, runs_where_the_compiler_is_newer_than_the_driver) {
    set("UNIBUF_NVRTC_DOUBLE_VERSION", "13010");
    const outcome got = conv2d_with({"--space", "cuda:0", "--mode", "zero-copy"});
    EXPECT_EQ(got.status, 0) << got.err;
}

TEST_F(conv2d_on_cuda, runs_where_the_card_is_newer_than_the_compiler) {
    set("UNIBUF_CUDA_DOUBLE_CAPABILITY", "130");
    const outcome got = conv2d_with({"--space", "cuda:0", "--mode", "zero-copy"});
    EXPECT_EQ(got.status, 0) << got.err;
}

TEST_F(conv2d_on_cuda, says_which_compilers_it_looked_for) {
    if (wants_real_driver()) GTEST_SKIP() << "a real driver is asked for";
    spoil({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"});
    const auto expect_tried = [&](const std::string& names) {
        for (const char* const mode : {"copying", "careful", "zero-copy"}) {
            expect_one_clear_line(conv2d_with({"--space", "cuda:0", "--mode", mode}), "conv2d",
                                  "there is no NVRTC (tried " + names + ")");
        }
    };
    expect_tried("libnvrtc.so.13, libnvrtc.so.12, libnvrtc.so.11.2");
    set("UNIBUF_CUDA_DOUBLE_VERSION", "12040");
    expect_tried("libnvrtc.so.12, libnvrtc.so.11.2");
}

TEST_F(conv2d_on_cuda, goes_on_without_a_compiler) {
    if (wants_real_driver()) GTEST_SKIP() << "a real driver is asked for";
    spoil({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"});
    variables_.insert(variables_.end(),
                      {{"OCL_ICD_VENDORS", "/nonexistent"}, {"__EGL_VENDOR_LIBRARY_DIRS", "/nonexistent"}});
    const outcome got = conv2d_with({"--space", "all", "--mode", "zero-copy", "--json", folder_.file("table.json")});
    ASSERT_EQ(got.status, 0) << got.err;
    const nlohmann::json rows = table();
    EXPECT_EQ(rows.at(0).at("bytes_copied"), 0);
    EXPECT_EQ(rows.at(1).at("space"), "cuda:0");
    EXPECT_EQ(rows.at(1).at("mode"), "zero-copy");
    EXPECT_NE(rows.at(1).at("unavailable").get<std::string>().find("NVRTC"), std::string::npos) << rows;
}

TEST_F(conv2d_on_cuda, says_that_the_driver_or_the_device_is_missing) {
    if (wants_real_driver()) GTEST_SKIP() << "a real driver is asked for";
    expect_one_clear_line(conv2d_with({"--space", "cuda:7"}), "conv2d", "cuda:7");
    spoil({"libcuda.so.1"});
    expect_one_clear_line(conv2d_with({"--space", "cuda:0"}), "conv2d", "the CUDA driver was not found");
}

}  // namespace
}  // namespace unibuf::cli::conv2d_cuda_test
