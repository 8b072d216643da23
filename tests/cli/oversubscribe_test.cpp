// tests/cli/oversubscribe_test.cpp: more data than the device may hold comes out right, and the limit is kept.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace unibuf::cli::oversubscribe_test {
namespace {

constexpr std::uint64_t frames = 12;
constexpr std::uint64_t pixels = 5000;
constexpr std::uint64_t frame_bytes = 4 * pixels;
constexpr std::uint64_t stages = 3;

class oversubscribe : public testing::TestWithParam<const char*> {
protected:
    static outcome oversubscribe_with(std::vector<std::string> more) {
        std::vector<std::string> all = {"--space",  GetParam(),
                                        "--frames", fmt::to_string(frames),
                                        "--pixels", fmt::to_string(pixels),
                                        "--stages", fmt::to_string(stages)};
        all.insert(all.end(), more.begin(), more.end());
        return run("examples/oversubscribe", all);
    }

    /// Also where there is no OpenCL.
    static bool is_missing(const outcome& got) { return got.err.find("is not available") != std::string::npos; }
};

TEST_P(oversubscribe, is_right_with_a_quarter_of_the_memory) {
    const outcome got = oversubscribe_with({"--json"});
    if (is_missing(got)) GTEST_SKIP() << got.err;
    ASSERT_EQ(got.status, 0) << got.err;
    const auto found = nlohmann::json::parse(got.out);
    const std::uint64_t data = 2 * frames * frame_bytes;
    EXPECT_EQ(found.at("data_bytes"), data);
    EXPECT_EQ(found.at("limit_bytes"), data / 4);
    EXPECT_LE(found.at("peak_bytes"), data / 4);
    EXPECT_GT(found.at("peak_bytes"), data / 4 - frame_bytes) << "memory that it may use is not used";
    // Each stage needs all of the data, of which a quarter may have been there, and a quarter stays.
    const std::uint64_t room = data / 4 / frame_bytes;
    EXPECT_GE(found.at("evictions"), stages * (2 * frames - room) - room);
    EXPECT_LE(found.at("bytes_moved"), (2 * stages + 1) * frames * frame_bytes) << "frames come twice within a stage";
}

TEST_P(oversubscribe, moves_no_frame_twice_where_there_is_room_for_all) {
    const outcome got = oversubscribe_with({"--json", "--limit", fmt::to_string(2 * frames * frame_bytes)});
    if (is_missing(got)) GTEST_SKIP() << got.err;
    ASSERT_EQ(got.status, 0) << got.err;
    const auto found = nlohmann::json::parse(got.out);
    EXPECT_EQ(found.at("evictions"), 0);
    EXPECT_EQ(found.at("bytes_moved"), 2 * frames * frame_bytes);
}

TEST_P(oversubscribe, needs_three_frames_at_once_and_says_so) {
    const outcome enough = oversubscribe_with({"--limit", fmt::to_string(3 * frame_bytes)});
    if (is_missing(enough)) GTEST_SKIP() << enough.err;
    EXPECT_EQ(enough.status, 0) << enough.err;
    const std::uint64_t limit = 3 * frame_bytes - 1;
    const outcome got = oversubscribe_with({"--limit", fmt::to_string(limit)});
    const std::string asked = fmt::format("{} bytes were asked for at {}, which is limited to {} and holds {}",
                                          frame_bytes, GetParam(), limit, 2 * frame_bytes);
    expect_one_clear_line(got, "oversubscribe", asked);
    expect_one_clear_line(got, "oversubscribe", "2 copies there have to stay, as they are leased");
    expect_one_clear_line(got, "oversubscribe", fmt::format("({} bytes, made in ", frame_bytes));
}

INSTANTIATE_TEST_SUITE_P(spaces, oversubscribe, testing::Values("debug:0", "opencl:0"), [](const auto& of) {
    const std::string name = of.param;
    return name.substr(0, name.find(':'));
});

TEST(oversubscribe_elsewhere, says_where_it_cannot_run) {
    for (const char* const space : {"host", "debug:7"}) {
        expect_one_clear_line(run("examples/oversubscribe", {"--space", space}), "oversubscribe", space);
    }
}

}  // namespace
}  // namespace unibuf::cli::oversubscribe_test
