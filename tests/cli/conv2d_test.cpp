// tests/cli/conv2d_test.cpp: the example, as a user runs it.
#include <fstream>

#include "cli/conv2d_fixture.hpp"
#include "unibuf/error.hpp"
#include "unibuf/space.hpp"

namespace unibuf::cli::conv2d_test {
namespace {

TEST_F(conv2d, works_on_the_host) { expect_all_modes("host"); }

class conv2d_on_devices : public conv2d, public testing::WithParamInterface<const char*> {};

TEST_P(conv2d_on_devices, works) {
    try {
        const space there(GetParam());
    } catch (const error& missing) {
        GTEST_SKIP() << missing.what();
    }
    expect_all_modes(GetParam());
}

INSTANTIATE_TEST_SUITE_P(spaces, conv2d_on_devices, testing::Values("opencl:0", "opengl:0"), [](const auto& of) {
    std::string name = of.param;
    std::ranges::replace(name, ':', '_');
    return name;
});

TEST_F(conv2d, goes_on_without_what_this_machine_lacks) {
    const outcome got = run("examples/conv2d",
                            {"--picture", picture_, "--repeat", "1", "--space", "all", "--mode", "zero-copy", "--json",
                             folder_.file("table.json")},
                            {{"OCL_ICD_VENDORS", "/nonexistent"},
                             {"__EGL_VENDOR_LIBRARY_DIRS", "/nonexistent"},
                             {"CUDA_VISIBLE_DEVICES", "-1"}});
    ASSERT_EQ(got.status, 0) << got.err;
    const nlohmann::json rows = table();
    EXPECT_EQ(rows.at(0).at("bytes_copied"), 0);
    EXPECT_EQ(rows.size(), 5u) << rows;
    for (const nlohmann::json& row : rows) {
        if (row.at("space") == "host") continue;
        EXPECT_FALSE(row.at("unavailable").get<std::string>().empty()) << row;
    }
    EXPECT_NE(got.out.find("unavailable: "), std::string::npos) << got.out;
}

TEST_F(conv2d, makes_the_same_of_a_picture_in_every_mode) {
    for (const char* const filter : {"edge", "blur", "sharpen"}) {
        std::vector<std::string> results;
        for (const char* const mode : {"copying", "careful", "zero-copy"}) {
            const std::string file = folder_.file(std::string(mode) + ".png");
            const outcome got = conv2d_with({"--space", "host", "--mode", mode, "--filter", filter, "--output", file});
            ASSERT_EQ(got.status, 0) << got.err;
            results.push_back(text_of(file));
        }
        EXPECT_EQ(results[0], results[1]) << filter;
        EXPECT_EQ(results[0], results[2]) << filter;
        EXPECT_NE(results[0], text_of(folder_.file("copying-before.png"))) << filter;
    }
}

TEST_F(conv2d, scales) {
    const outcome got = conv2d_with({"--space", "host", "--mode", "zero-copy", "--size", "1x1"});
    EXPECT_EQ(got.status, 0) << got.err;
    EXPECT_NE(got.out.find("1x1"), std::string::npos) << got.out;
    EXPECT_EQ(conv2d_with({"--space", "host", "--mode", "zero-copy", "--size", "100x1"}).status, 0);
}

TEST_F(conv2d, refuses_nonsense_and_leaves_nothing_behind) {
    std::ofstream(folder_.file("text.jpg")) << "no picture";
    std::ofstream(folder_.file("short.ppm")) << "P6\n100 100\n255\nx";
    ASSERT_EQ(conv2d_with({"--space", "host", "--output", folder_.file("short.png")}).status, 0);
    std::filesystem::resize_file(folder_.file("short.png"), 80);
    std::filesystem::remove(folder_.file("short-before.png"));
    std::ofstream(folder_.file("empty.png")).flush();
    std::filesystem::create_directory(folder_.file("folder"));
    const std::vector<std::string> before = folder_.files();
    const std::string out = folder_.file("out.png");
    struct row {
        arguments given;
        std::string says;
    };
    for (const row& each : std::vector<row>{{{"--picture", folder_.file("none.jpg")}, "none.jpg"},
                                            {{"--picture", folder_.file("text.jpg")}, "text.jpg"},
                                            {{"--picture", folder_.file("short.ppm")}, "short.ppm"},
                                            {{"--picture", folder_.file("short.png")}, "short.png"},
                                            {{"--picture", folder_.file("empty.png")}, "empty.png"},
                                            {{"--picture", folder_.file("folder")}, "folder"},
                                            {{"--picture", ""}, ""},
                                            {{"--output", folder_.file("none/out.png")}, "none/out"},
                                            {{"--output", "/dev/full/out.png"}, "/dev/full"},
                                            {{"--json", folder_.file("none/table.json")}, "none/table.json"},
                                            {{"--json", folder_.file("folder")}, "folder"},
                                            {{"--json", "/dev/full"}, "/dev/full"},
                                            {{"--size", "0x0"}, "0x0"},
                                            {{"--size", "abc"}, "abc"},
                                            {{"--size", "10"}, "10"},
                                            {{"--size", "10x"}, "10x"},
                                            {{"--size", "-3x5"}, "-3x5"},
                                            {{"--size", "3x5x7"}, "3x5x7"},
                                            {{"--size", "99999999999x1"}, "99999999999x1"},
                                            {{"--size", "1000000x1000000"}, "1000000x1000000"},
                                            {{"--size", ""}, "size"},
                                            {{"--repeat", "0"}, "repeat"},
                                            {{"--repeat", "-1"}, "repeat"},
                                            {{"--repeat", "many"}, "repeat"},
                                            {{"--repeat", "99999999999999999999"}, "repeat"},
                                            {{"--filter", "nonsense"}, "nonsense"},
                                            {{"--filter", ""}, "filter"},
                                            {{"--mode", "nonsense"}, "nonsense"},
                                            {{"--space", "nonsense"}, "nonsense"},
                                            {{"--space", "opencl:99"}, "opencl:99"},
                                            {{"--space", "cuda:x"}, "cuda:x"},
                                            {{"--space", "debug:0"}, "debug:0"},
                                            {{"--space", ""}, "space"},
                                            {{"--nonsense"}, "--nonsense"},
                                            {{"stray"}, "stray"}}) {
        SCOPED_TRACE(testing::PrintToString(each.given));
        arguments all = each.given;
        for (const auto& [name, value] : {std::pair<std::string, std::string>{"--picture", picture_},
                                          {"--output", out},
                                          {"--space", "host"},
                                          {"--mode", "zero-copy"},
                                          {"--repeat", "1"}}) {
            if (std::ranges::find(all, name) == all.end()) all.insert(all.end(), {name, value});
        }
        expect_one_clear_line(run("examples/conv2d", all), "conv2d", each.says);
        EXPECT_EQ(folder_.files(), before);
        for (const char* const left : {"out.png", "out-before.png"}) std::filesystem::remove(folder_.file(left));
    }
    expect_one_clear_line(run("examples/conv2d", {}), "conv2d", "picture");
}

}  // namespace
}  // namespace unibuf::cli::conv2d_test
