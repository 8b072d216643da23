// tests/cli/trace_test.cpp: what the tool tells of a program that has run with a trace.
#include <nlohmann/json.hpp>

#include "cli/forged_trace.hpp"
#include "cli/program.hpp"

namespace unibuf::cli::trace_test {
namespace {

/// The trace of examples/heat, which moves its edge in each step.
class a_trace : public testing::Test {
protected:
    void SetUp() override {
        const outcome ran =
            run("examples/heat", {"--width", "256", "--rows", "256", "--steps", "20"}, {{"UNIBUF_TRACE", file_}});
        if (ran.status != 0) GTEST_SKIP() << ran.err;
    }

    outcome tool(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin() + 1, file_);
        return run("cli/unibuf", arguments);
    }

    scratch folder_;
    std::string file_ = folder_.file("heat.trace");
};

TEST_F(a_trace, is_reported_with_the_least_that_was_needed) {
    const outcome text = tool({"report"});
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_TRUE(text.out.starts_with("moved / least needed: ")) << text.out;
    const nlohmann::json got = nlohmann::json::parse(tool({"report", "--json"}).out);
    EXPECT_GT(got.at("moved"), 0);
    EXPECT_GE(got.at("moved"), got.at("least"));
    std::uint64_t sum = 0;
    for (const auto& each : got.at("routes")) sum += each.at("bytes").get<std::uint64_t>();
    EXPECT_EQ(sum, got.at("moved"));
    const auto in_program = [](const nlohmann::json& each) {
        return each.at("site").get<std::string>().find("/heat+0x") != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::any_of(got.at("sites"), in_program)) << got.at("sites");
}

TEST_F(a_trace, says_why_bytes_were_copied) {
    const outcome got = tool({"why", "1"});
    EXPECT_EQ(got.status, 0) << got.err;
    EXPECT_NE(got.out.find("lacked"), std::string::npos) << got.out;
    EXPECT_NE(got.out.find("had been written at the host through a pointer"), std::string::npos) << got.out;
    expect_one_clear_line(tool({"why", "999999"}), "unibuf", "unibuf report");
}

TEST_F(a_trace, is_checked_against_limits) {
    EXPECT_EQ(tool({"check", "--max", "*:*=1TB"}).status, 0);
    EXPECT_EQ(tool({"check", "--max", "opencl:0:host=0"}).status, 3);
    EXPECT_EQ(tool({"check", "--max", "host:opencl:1=0"}).status, 0);
    const outcome got = tool({"check", "--max", "*:*=1TB", "--max", "host:*=1B"});
    EXPECT_EQ(got.status, 3);
    EXPECT_NE(got.out.find("EXCEEDED"), std::string::npos) << got.out;
    EXPECT_NE(got.out.find("kept"), std::string::npos) << got.out;
    for (const char* const nonsense : {"host", "host:*", "host:*=", "host:*=many", "=1", "host=1GB", "host:cuda:x=1",
                                       "0:1=1", "nospace:host=1", "host:*=-5"}) {
        const outcome refused = tool({"check", "--max", nonsense});
        EXPECT_EQ(refused.status, 2) << nonsense;
        expect_one_clear_line(refused, "unibuf", "FROM:TO=BYTES");
    }
}

TEST(a_trace_file, is_refused_where_it_is_none) {
    expect_one_clear_line(run("cli/unibuf", {"report", "/nonexistent"}), "unibuf", "No such file");
    expect_one_clear_line(run("cli/unibuf", {"report", "/dev/null"}), "unibuf", "empty");
}

TEST(a_trace_file, asks_for_no_more_than_can_be_done) {
    const scratch folder;
    const std::string file = folder.file("trace");
    constexpr std::uint64_t end = std::uint64_t{1} << 62;
    const event whole{
        .time = 1000, .kind = event_kind::access, .what = access::write, .to = 1, .buffer = 1, .end = end};
    const auto rows = [&](std::uint32_t outer, std::uint32_t inner, std::uint64_t bytes) {
        event made = whole;
        made.axes = 2;
        made.counts = {outer, inner};
        made.row_bytes = bytes;
        made.pitches = {bytes * 2, bytes * 2};
        return made;
    };
    forged_trace made;
    made.add(rows(0xffffffff, 0xffffffff, 0));
    made.add(rows(0xffffffff, 1000, 1));
    for (int i = 0; i < 100; ++i) made.add(rows(1000, 1000, 8));
    event late = whole;
    late.took = late.time + 1;
    made.add(late);
    late.time = late.took = ~std::uint64_t{0};
    made.add(late);
    made.write(file);
    const std::vector<event> read = read_trace(file).events;
    EXPECT_EQ(read.size(), 101u) << "rows without bytes, and events that began before time did, are none";
    std::uint64_t looked_at = 0;
    for (const event& each : read) {
        if (each.axes == 2) looked_at += std::uint64_t{each.counts[0]} * each.counts[1];
    }
    EXPECT_GT(looked_at, 1u << 23);
    EXPECT_LE(looked_at, 1u << 24);
}

TEST(a_trace_of_a_program_with_debugging_information, names_the_lines) {
    const scratch folder;
    const std::string file = folder.file("lines.trace");
    ASSERT_EQ(run("tests/traced", {}, {{"UNIBUF_TRACE", file}}).status, 0);
    const std::string report = run("cli/unibuf", {"report", file}).out;
    if (run("cli/unibuf", {"report", file}, {{"PATH", ""}}).out == report) GTEST_SKIP() << "there is no addr2line";
    for (const char* const line : {"traced.c:11: ", "traced.c:13: "}) {
        EXPECT_NE(report.find(line), std::string::npos) << line << '\n' << report;
    }
}

/// Returns the report of tests/traced, copied to `program`.
std::string report_of(const scratch& folder, const std::string& program,
                      const std::vector<std::pair<std::string, std::string>>& variables = {}) {
    const std::filesystem::path copy = folder.file(program);
    std::filesystem::create_directories(copy.parent_path());
    std::filesystem::copy_file(std::filesystem::path(UNIBUF_BUILD_DIR) / "tests/traced", copy);
    const std::string file = folder.file("places.trace");
    std::vector<std::pair<std::string, std::string>> all = {{"UNIBUF_TRACE", file}};
    all.insert(all.end(), variables.begin(), variables.end());
    const outcome ran = run(copy, {}, all);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return run("cli/unibuf", {"report", file}).out;
}

TEST(places_in_a_trace, are_the_programs_whatever_its_name_and_folder) {
    for (const char* const name : {"libunibuf_solver", "python_solver", "a b/unibuf/_native.solver"}) {
        const scratch folder;
        const std::string report = report_of(folder, name);
        EXPECT_NE(report.find(folder.file(name) + "+0x"), std::string::npos) << report;
    }
}

TEST(places_in_a_trace, are_the_programs_whatever_the_names_of_the_libraries) {
    const scratch folder;
    std::string libraries;
    for (const char* const library : {"libunibuf.so", "libunibuf_c.so"}) {
        const std::string other = folder.file("part_" + std::to_string(libraries.size()) + ".so");
        std::filesystem::copy_file(std::filesystem::path(UNIBUF_BUILD_DIR) / library, other);
        libraries += (libraries.empty() ? "" : ":") + other;
    }
    if (run("tests/traced", {}, {{"LD_PRELOAD", libraries}}).status != 0) GTEST_SKIP() << "nothing can be preloaded";
    const std::string report = report_of(folder, "solver", {{"LD_PRELOAD", libraries}});
    EXPECT_NE(report.find(folder.file("solver") + "+0x"), std::string::npos) << report;
    EXPECT_EQ(report.find("part_"), std::string::npos) << report;
}

}  // namespace
}  // namespace unibuf::cli::trace_test
