// tests/cli/conv2d_test.cpp: the example, as a user runs it.
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "unibuf/error.hpp"
#include "unibuf/space.hpp"

namespace unibuf::cli {
namespace {

using arguments = std::vector<std::string>;

constexpr int width = 37;
constexpr int height = 29;

/// A picture that is not symmetric, with edges: a BMP, bottom row first.
void write_picture(const std::string& file) {
    constexpr int row_bytes = (3 * width + 3) / 4 * 4;
    constexpr int header_bytes = 54;
    std::string content = "BM";
    const auto add = [&](int value, int bytes) {
        for (int i = 0; i < bytes; ++i) content += static_cast<char>(value >> 8 * i);
    };
    for (const int value : {header_bytes + row_bytes * height, 0, header_bytes, 40, width, height}) add(value, 4);
    add(1, 2);   // plane
    add(24, 2);  // bits a pixel
    for (int i = 0; i < 6; ++i) add(0, 4);
    for (int y = height - 1; y >= 0; --y) {
        for (int x = 0; x < width; ++x) {
            const bool inside = x > 8 && x < 20 && y > 5 && y < 25;
            for (int channel = 0; channel < 3; ++channel) add(inside ? 220 : 3 * x + 2 * y, 1);
        }
        add(0, row_bytes - 3 * width);
    }
    std::ofstream(file, std::ios::binary) << content;
}

class conv2d : public testing::Test {
protected:
    void SetUp() override { write_picture(picture_); }

    outcome conv2d_with(const arguments& more) const {
        arguments all = {"--picture", picture_, "--repeat", "1"};
        all.insert(all.end(), more.begin(), more.end());
        return run("examples/conv2d", all);
    }

    nlohmann::json table() const { return nlohmann::json::parse(text_of(folder_.file("table.json"))); }

    void expect_all_modes(const std::string& space) const {
        const outcome got = conv2d_with({"--space", space, "--mode", "all", "--output", folder_.file("out.png"),
                                         "--json", folder_.file("table.json")});
        ASSERT_EQ(got.status, 0) << got.err;
        EXPECT_EQ(got.err, "");
        EXPECT_NE(got.out.find("zero-copy"), std::string::npos) << got.out;
        const nlohmann::json rows = table();
        const std::array modes = {"copying", "careful", "zero-copy"};
        ASSERT_EQ(rows.size(), modes.size()) << rows;
        for (std::size_t i = 0; i < modes.size(); ++i) {
            EXPECT_EQ(rows[i].at("space"), space);
            EXPECT_EQ(rows[i].at("mode"), modes[i]);
            EXPECT_GT(rows[i].at("milliseconds"), 0.0);
            EXPECT_EQ(rows[i].at("bytes_copied") == 0, i == 2 || (i == 1 && space == "host")) << rows[i];
        }
        EXPECT_LT(rows[2].at("peak_bytes"), rows[0].at("peak_bytes"));
        expect_png("out.png");
        expect_png("out-before.png");
    }

    void expect_png(const std::string& name) const {
        const std::string content = text_of(folder_.file(name));
        ASSERT_GT(content.size(), 24u) << name;
        EXPECT_EQ(content.substr(1, 3), "PNG");
        const auto number = [&](std::size_t at) {
            int result = 0;
            for (std::size_t i = at; i < at + 4; ++i) result = result << 8 | static_cast<unsigned char>(content[i]);
            return result;
        };
        EXPECT_EQ(number(16), width);
        EXPECT_EQ(number(20), height);
    }

    const scratch folder_;
    const std::string picture_ = folder_.file("picture.bmp");
};

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
                            {{"OCL_ICD_VENDORS", "/nonexistent"}, {"__EGL_VENDOR_LIBRARY_DIRS", "/nonexistent"}});
    ASSERT_EQ(got.status, 0) << got.err;
    const nlohmann::json rows = table();
    EXPECT_EQ(rows.at(0).at("bytes_copied"), 0);
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
}  // namespace unibuf::cli
