// tests/cli/doctor_test.cpp: the doctor finds the fault of each program, in its line, and nothing in its mended twin.
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.hpp"

namespace unibuf::cli::doctor_test {
namespace {

/// Returns the line of tests/cli/faults.cpp that ends with the name of a fault.
std::string line_of(const std::string& fault) {
    std::istringstream source(text_of(std::filesystem::path(UNIBUF_SOURCE_DIR) / "tests/cli/faults.cpp"));
    std::string line;
    for (int number = 1; std::getline(source, line); ++number) {
        if (line.ends_with("// " + fault)) return "faults.cpp:" + std::to_string(number) + ": ";
    }
    return "no line";
}

outcome examine(std::vector<std::string> arguments, std::vector<std::string> options = {},
                const std::vector<std::pair<std::string, std::string>>& variables = {}) {
    options.insert(options.begin(), "doctor");
    options.emplace_back("--");
    options.push_back((std::filesystem::path(UNIBUF_BUILD_DIR) / "tests/faults").string());
    options.insert(options.end(), arguments.begin(), arguments.end());
    return run("cli/unibuf", options, variables);
}

bool lines_are_known() {
    return run("/bin/sh", {"-c", "command -v addr2line llvm-addr2line"}).out.find('/') != std::string::npos;
}

class a_faulty_program : public testing::TestWithParam<const char*> {};

TEST_P(a_faulty_program, is_told_its_fault_and_where_it_is) {
    const std::string fault = GetParam();
    const outcome got = examine({fault}, {"--json"});
    ASSERT_EQ(got.status, 3) << got.err;
    const auto all = nlohmann::json::parse(got.out);
    ASSERT_EQ(all.at("findings").size(), 1) << all.dump(2);
    const nlohmann::json& found = all.at("findings").at(0);
    EXPECT_EQ(found.at("kind"), fault);
    EXPECT_GT(found.at("seconds"), 0);
    EXPECT_FALSE(found.at("evidence").get<std::string>().empty());
    EXPECT_FALSE(found.at("change").get<std::string>().empty());
    if (!lines_are_known()) GTEST_SKIP() << "there is no addr2line";
    EXPECT_NE(found.at("line").get<std::string>().find(line_of(fault)), std::string::npos)
        << found.at("line") << ", not " << line_of(fault);
}

TEST_P(a_faulty_program, has_a_mended_twin_of_which_nothing_is_told) {
    const outcome got = examine({GetParam(), "mended"}, {"--json"});
    EXPECT_EQ(got.status, 0) << got.err;
    EXPECT_TRUE(nlohmann::json::parse(got.out).at("findings").empty()) << got.out;
}

INSTANTIATE_TEST_SUITE_P(each, a_faulty_program,
                         testing::Values("round_trip", "overwritten_fetch", "unread_copy", "ping_pong",
                                         "whole_for_part", "many_small", "churn", "lost", "thrash", "long_lease",
                                         "mark_without_write", "filled_at_host"),
                         [](const auto& of) { return std::string(of.param); });

TEST(the_doctor, tells_people_what_to_change) {
    const outcome got = examine({"round_trip"});
    EXPECT_EQ(got.status, 3) << got.err;
    for (const char* const part : {"moved ", "least needed ", "1. round_trip: ", "take `read` here"}) {
        EXPECT_NE(got.out.find(part), std::string::npos) << part << '\n' << got.out;
    }
    const std::string healthy = examine({"round_trip", "mended"}).out;
    EXPECT_NE(healthy.find("nothing to change was found"), std::string::npos) << healthy;
    for (const std::string& out : {got.out, healthy}) {
        EXPECT_NE(out.find("\nmost was moved for "), std::string::npos) << out;
        EXPECT_NE(out.find("Is all of it used there?"), std::string::npos) << out;
    }
}

TEST(the_doctor, says_first_that_writes_are_not_found_here_and_why) {
    const auto examine_refused = [](const std::string& what, const std::string& fault) {
        const std::filesystem::path build = UNIBUF_BUILD_DIR;
        return run("tests/refuse", {what, (build / "cli/unibuf").string(), "doctor", "--json", "--",
                                    (build / "tests/faults").string(), fault});
    };
    const outcome got = examine_refused("call,device", "untracked_writes");
    if (got.status == 77) GTEST_SKIP() << got.err;
    ASSERT_EQ(got.status, 3) << got.err;
    const auto found = nlohmann::json::parse(got.out).at("findings");
    ASSERT_EQ(found.size(), 1) << found.dump(2);
    EXPECT_EQ(found.at(0).at("kind"), "untracked_writes");
    for (const char* const part : {"userfaultfd is refused", "--device /dev/userfaultfd"}) {
        EXPECT_NE(found.at(0).at("evidence").get<std::string>().find(part), std::string::npos) << found;
    }
    if (lines_are_known()) {
        EXPECT_NE(found.at(0).at("line").get<std::string>().find(line_of("untracked_writes")), std::string::npos)
            << found;
    }
    EXPECT_EQ(examine_refused("device", "untracked_writes").status, 0) << "the call finds them";
}

TEST(the_doctor, says_what_tracking_by_a_signal_keeps_a_program_from) {
    const outcome by_signal = examine({"round_trip", "mended"}, {}, {{"UNIBUF_TRACKING", "signal"}});
    EXPECT_NE(by_signal.out.find("read(2) and other system calls cannot write"), std::string::npos) << by_signal.out;
    EXPECT_EQ(examine({"round_trip", "mended"}).out.find("read(2)"), std::string::npos);
}

TEST(the_doctor, counts_what_had_not_changed_with_what_had_hardly_changed) {
    const auto found = nlohmann::json::parse(examine({"all_marked"}, {"--json"}).out).at("findings");
    ASSERT_EQ(found.size(), 1) << found.dump(2);
    EXPECT_EQ(found.at(0).at("kind"), "whole_for_part");
    if (!lines_are_known()) GTEST_SKIP() << "there is no addr2line";
    EXPECT_NE(found.at(0).at("line").get<std::string>().find(line_of("all_marked")), std::string::npos) << found;
    EXPECT_EQ(examine({"all_marked", "mended"}).status, 0);
}

TEST(the_doctor, names_the_line_that_most_was_moved_for_to_programs_too) {
    const auto all = nlohmann::json::parse(examine({"round_trip", "mended"}, {"--json"}).out);
    EXPECT_GT(all.at("most_moved").at("bytes"), 0) << all.dump(2);
    EXPECT_GT(all.at("most_moved").at("transfers"), 0);
    EXPECT_FALSE(all.at("most_moved").at("line").get<std::string>().empty());
}

TEST(the_doctor, looks_into_processes_that_are_forked_off_and_beside_traces_of_the_programs_own) {
    for (const char* const way : {"forked", "own_trace"}) {
        const outcome got = examine({way}, {"--json"});
        EXPECT_EQ(got.status, 3) << way << got.err;
        const auto found = nlohmann::json::parse(got.out).at("findings");
        ASSERT_EQ(found.size(), 1) << way << got.out;
        EXPECT_EQ(found.at(0).at("kind"), "round_trip");
    }
}

TEST(the_doctor, looks_into_all_programs_of_a_shell) {
    const std::string program = (std::filesystem::path(UNIBUF_BUILD_DIR) / "tests/faults").string();
    const std::string script = R"("$0" round_trip; "$0" unread_copy; exec "$0" churn)";
    const outcome told = run("cli/unibuf", {"doctor", "--json", "--", "/bin/sh", "-c", script, program});
    const auto found = nlohmann::json::parse(told.out).at("findings");
    EXPECT_EQ(found.size(), 3) << found.dump(2);
    for (const auto& each : found)
        EXPECT_NE(each.at("name").get<std::string>().find(" of process "), std::string::npos);
}

TEST(the_doctor, reads_traces_that_were_written_before) {
    const scratch folder;
    const std::string file = folder.file("trace");
    const std::vector<std::pair<std::string, std::string>> plain{{"UNIBUF_TRACE", file}};
    const auto told_of = [&](const char* fault, const std::vector<std::pair<std::string, std::string>>& variables) {
        EXPECT_EQ(run("tests/faults", {fault}, variables).status, 0);
        return run("cli/unibuf", {"doctor", file}).out.find(std::string(fault) + ": ") != std::string::npos;
    };
    // What was brought and not used shows in any trace; what had not changed shows in close ones alone.
    EXPECT_TRUE(told_of("unread_copy", plain));
    EXPECT_FALSE(told_of("round_trip", plain));
    EXPECT_TRUE(told_of("round_trip", {plain[0], {"UNIBUF_TRACE_CLOSE", "1"}}));
}

TEST(the_doctor, leaves_a_program_its_own_status) {
    EXPECT_EQ(examine({"no such fault"}).status, 2);
    const outcome killed = run("cli/unibuf", {"doctor", "--", "/bin/sh", "-c", "kill -9 $$"});
    EXPECT_EQ(killed.status, 137);
    const outcome other = run("cli/unibuf", {"doctor", "--", "/bin/true"});
    EXPECT_EQ(other.status, 0);
    EXPECT_NE(other.err.find("has not used unibuf"), std::string::npos) << other.err;
}

TEST(the_doctor, leaves_the_streams_of_a_program_alone) {
    const outcome text = run("cli/unibuf", {"doctor", "--", "/bin/echo", "said"});
    EXPECT_TRUE(text.out.starts_with("said\n")) << text.out;
    const outcome json = run("cli/unibuf", {"doctor", "--json", "--", "/bin/echo", "said"});
    EXPECT_NE(json.err.find("said\n"), std::string::npos) << json.err;
    EXPECT_TRUE(nlohmann::json::accept(json.out)) << json.out;
}

TEST(the_doctor, refuses_what_it_cannot_examine) {
    expect_one_clear_line(run("cli/unibuf", {"doctor"}), "unibuf", "either FILE");
    expect_one_clear_line(run("cli/unibuf", {"doctor", "file", "--", "/bin/true"}), "unibuf", "either FILE");
    expect_one_clear_line(run("cli/unibuf", {"doctor", "--", "/nonexistent"}), "unibuf", "No such file");
    expect_one_clear_line(run("cli/unibuf", {"doctor", "/nonexistent"}), "unibuf", "No such file");
}

}  // namespace
}  // namespace unibuf::cli::doctor_test
