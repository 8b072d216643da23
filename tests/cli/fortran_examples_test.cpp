// tests/cli/fortran_examples_test.cpp: the examples in Fortran, as a user runs them.
#include "cli/conv2d_fixture.hpp"
#include "unibuf/error.hpp"
#include "unibuf/space.hpp"

namespace unibuf::cli::fortran_examples_test {
namespace {

const std::vector<std::pair<std::string, std::string>> no_drivers = {{"OCL_ICD_VENDORS", "/nonexistent"},
                                                                     {"__EGL_VENDOR_LIBRARY_DIRS", "/nonexistent"}};

/// Empty where `name` is there.
std::string why_missing(const std::string& name) {
    try {
        const space there(name);
        return "";
    } catch (const error& missing) {
        return missing.what();
    }
}

class fortran_example : public testing::TestWithParam<const char*> {
protected:
    const std::string program_ = std::string("examples/") + GetParam();
};

TEST_P(fortran_example, moves_no_byte_and_finds_its_result_right) {
    if (const std::string reason = why_missing("opengl:0"); !reason.empty()) GTEST_SKIP() << reason;
    const outcome got = run(program_, {});
    ASSERT_EQ(got.status, 0) << got.err;
    EXPECT_NE(got.out.find(": 0 bytes moved between memories"), std::string::npos) << got.out;
    EXPECT_EQ(got.out.find("skipped"), std::string::npos) << got.out;
}

TEST_P(fortran_example, says_that_there_is_no_gpu) {
    const outcome got = run(program_, {}, no_drivers);
    EXPECT_EQ(got.status, 0) << got.err;
    EXPECT_NE(got.out.find("skipped: the space 'opengl:0' is not available: "), std::string::npos) << got.out;
}

INSTANTIATE_TEST_SUITE_P(programs, fortran_example,
                         testing::Values("heat_fortran", "phase1_drop_in", "phase2_direct_access",
                                         "phase3_full_integration"),
                         [](const auto& of) { return std::string(of.param); });

TEST(phase1_drop_in, works_on_the_host_where_there_is_no_gpu) {
    const outcome got = run("examples/phase1_drop_in", {}, no_drivers);
    EXPECT_EQ(got.status, 0) << got.err;
    EXPECT_NE(got.out.find("3 signals smoothed"), std::string::npos) << got.out;
}

TEST(phase3_full_integration, makes_the_buffers_of_one_stream) {
    if (const std::string reason = why_missing("opengl:0"); !reason.empty()) GTEST_SKIP() << reason;
    const outcome got = run("examples/phase3_full_integration", {});
    EXPECT_NE(got.out.find("4 buffers made and 12 used again"), std::string::npos) << got.out;
}

class conv2d_fortran : public conv2d, public testing::WithParamInterface<const char*> {};

/// The program itself fails where a pixel is wrong.
TEST_P(conv2d_fortran, copies_nothing_in_place_and_holds_a_third) {
    const std::string device = GetParam();
    if (const std::string reason = why_missing(device); !reason.empty()) GTEST_SKIP() << reason;
    const outcome got = run("examples/conv2d_fortran", {picture_, "256", "300", "2"});
    ASSERT_EQ(got.status, 0) << got.err;
    for (const char* const way : {"current", "write and read", "in place"}) {
        EXPECT_NE(got.out.find(device + "   " + way), std::string::npos) << got.out;
    }
    EXPECT_NE(got.out.find(device + " in place: 0 bytes copied, 33% of the memory, "), std::string::npos) << got.out;
    EXPECT_NE(got.out.find("largest error "), std::string::npos) << got.out;
}

INSTANTIATE_TEST_SUITE_P(devices, conv2d_fortran, testing::Values("opengl:0", "opencl:0"), [](const auto& of) {
    std::string name = of.param;
    std::ranges::replace(name, ':', '_');
    return name;
});

TEST_F(conv2d, in_fortran_takes_pictures_of_any_size) {
    const outcome got = run("examples/conv2d_fortran", {picture_});
    ASSERT_EQ(got.status, 0) << got.err;
    EXPECT_NE(got.out.find("picture.bmp, 36x29"), std::string::npos) << got.out;
    EXPECT_EQ(run("examples/conv2d_fortran", {picture_, "4", "1", "1"}).status, 0);
}

TEST_F(conv2d, in_fortran_goes_on_without_what_this_machine_lacks) {
    const outcome got = run("examples/conv2d_fortran", {picture_}, no_drivers);
    EXPECT_EQ(got.status, 0) << got.err;
    for (const char* const device : {"opengl:0", "opencl:0"}) {
        EXPECT_NE(got.out.find(std::string(device) + "   skipped: the space"), std::string::npos) << got.out;
    }
}

TEST_F(conv2d, in_fortran_refuses_nonsense) {
    struct row {
        arguments given;
        std::string says;
    };
    for (const row& each : std::vector<row>{{{}, "usage"},
                                            {{picture_, "100"}, "usage"},
                                            {{picture_, "3", "100"}, "usage"},
                                            {{picture_, "100", "0"}, "usage"},
                                            {{picture_, "100", "100", "0"}, "usage"},
                                            {{picture_, "many", "100"}, "usage"},
                                            {{picture_, "", "100"}, "usage"},
                                            {{picture_, "99999999999999999999", "1"}, "usage"},
                                            {{picture_, "16385", "1"}, "usage"},
                                            {{picture_, "100", "100", "1", "1"}, "usage"},
                                            {{folder_.file("none.jpg")}, "none.jpg"}}) {
        SCOPED_TRACE(testing::PrintToString(each.given));
        expect_one_clear_line(run("examples/conv2d_fortran", each.given), "conv2d_fortran", each.says);
    }
}

}  // namespace
}  // namespace unibuf::cli::fortran_examples_test
