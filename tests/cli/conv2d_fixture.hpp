// tests/cli/conv2d_fixture.hpp: runs the example conv2d on a small picture.
#pragma once

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace unibuf::cli {

using arguments = std::vector<std::string>;

inline constexpr int width = 37;
inline constexpr int height = 29;

/// A picture that is not symmetric, with edges: a BMP, bottom row first.
inline void write_picture(const std::string& file) {
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
        return run("examples/conv2d", all, variables_);
    }

    nlohmann::json table() const { return nlohmann::json::parse(text_of(folder_.file("table.json"))); }

    void expect_all_modes(const std::string& space, const std::string& filter = "edge") const {
        const outcome got = conv2d_with({"--space", space, "--mode", "all", "--filter", filter, "--output",
                                         folder_.file("out.png"), "--json", folder_.file("table.json")});
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

    /// Expects all modes, and what each copies where the zero-copy one has nothing to copy.
    void expect_copies_of(const std::string& space, const std::string& filter) const {
        expect_all_modes(space, filter);
        if (HasFatalFailure()) return;
        constexpr int picture_bytes = width * height * static_cast<int>(sizeof(float));
        const nlohmann::json rows = table();
        EXPECT_EQ(rows[0].at("bytes_copied"), 4 * picture_bytes);
        EXPECT_EQ(rows[1].at("bytes_copied"), 2 * picture_bytes);
        EXPECT_EQ(rows[2].at("bytes_copied"), 0);
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
    std::vector<std::pair<std::string, std::string>> variables_;  // of the environment that it runs in
};

}  // namespace unibuf::cli
