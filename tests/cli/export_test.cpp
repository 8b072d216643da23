// tests/cli/export_test.cpp: traces in the formats of other tools.
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "cli/program.hpp"

namespace unibuf::cli::export_test {
namespace {

class an_exported_trace : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(run("tests/faults", {"ping_pong"}, {{"UNIBUF_TRACE", trace_}, {"UNIBUF_TRACE_CLOSE", "1"}}).status,
                  0);
    }

    outcome export_to(const std::string& name) {
        return run("cli/unibuf", {"export", trace_, "-o", folder_.file(name)});
    }

    scratch folder_;
    std::string trace_ = folder_.file("trace");
};

TEST_F(an_exported_trace, is_a_timeline_with_arrows_from_writer_to_transfer_to_user) {
    const outcome got = export_to("timeline.json");
    ASSERT_EQ(got.status, 0) << got.err;
    const auto all = nlohmann::json::parse(text_of(folder_.file("timeline.json"))).at("traceEvents");
    std::map<std::uint64_t, std::string> tracks;
    std::map<std::uint64_t, std::string> flows;  // the phases of each
    std::set<std::string> moved_on;
    for (const nlohmann::json& each : all) {
        const std::string phase = each.at("ph");
        if (phase == "M") tracks[each.at("tid")] = each.at("args").at("name");
        if (phase == "X" && each.at("cat") == "transfer") moved_on.insert(tracks.at(each.at("tid")));
        if (phase == "s" || phase == "t" || phase == "f") flows[each.at("id")] += phase;
        if (phase == "M") continue;
        EXPECT_GE(each.at("ts").get<double>(), 0) << each;
        EXPECT_LT(each.at("ts").get<double>(), 60e6) << each;
    }
    EXPECT_EQ(moved_on, (std::set<std::string>{"host to debug:0", "debug:0 to host"}));
    ASSERT_FALSE(flows.empty());
    for (const auto& [id, phases] : flows) EXPECT_EQ(phases, "stf") << id;
}

TEST_F(an_exported_trace, is_a_database_with_the_same_sums) {
    const outcome got = export_to("trace.sqlite");
    if (got.err.find("built without SQLite") != std::string::npos) GTEST_SKIP() << got.err;
    ASSERT_EQ(got.status, 0) << got.err;
    const outcome asked = run("/usr/bin/python3", {"-c", R"(
import sqlite3, sys
at = sqlite3.connect(sys.argv[1])
print(at.execute("select sum(bytes) from event where kind = 'transfer'").fetchone()[0])
print(at.execute("select count(*) from event join site on event.site = site.id where name like '%faults%'").fetchone()[0])
print(sorted(name for (name,) in at.execute("select name from space")))
)",
                                                   folder_.file("trace.sqlite")});
    ASSERT_EQ(asked.status, 0) << asked.err;
    const auto report = nlohmann::json::parse(run("cli/unibuf", {"report", trace_, "--json"}).out);
    EXPECT_TRUE(asked.out.starts_with(std::to_string(report.at("moved").get<std::uint64_t>()) + "\n")) << asked.out;
    EXPECT_EQ(asked.out.find("\n0\n"), std::string::npos) << asked.out;
    EXPECT_TRUE(asked.out.ends_with("['debug:0', 'host']\n")) << asked.out;
    EXPECT_EQ(export_to("trace.sqlite").status, 0) << "over one that is there";
}

TEST_F(an_exported_trace, takes_the_place_of_files_of_its_own_alone) {
    for (const char* const name : {"all.json", "all.sqlite", "page.html"}) {
        const std::string file = folder_.file(name);
        const char* const command = std::string_view(name).starts_with("page") ? "report" : "export";
        const auto again = [&](std::vector<std::string> options) {
            options.insert(options.begin(), {command, trace_, "-o", file});
            return run("cli/unibuf", options);
        };
        const outcome first = again({});
        if (first.err.find("built without SQLite") != std::string::npos) continue;
        EXPECT_EQ(first.status, 0) << first.err;
        EXPECT_EQ(again({}).status, 0) << "over its own " << name;
        // An output of one kind is a stranger's to the other kinds.
        for (const char* const other : {"notes\n", "{\"displayTimeUnit\":\"ns\"}", "<!doctype html>\n<html>\n", "x"}) {
            std::ofstream(file) << other;
            expect_one_clear_line(again({}), "unibuf", "--force");
            EXPECT_EQ(text_of(file), other) << name;
        }
        EXPECT_EQ(again({"--force"}).status, 0);
        EXPECT_GT(text_of(file).size(), 100u);
        std::ofstream(file, std::ios::trunc).close();
        EXPECT_EQ(again({}).status, 0) << "an empty one, as mktemp makes it";
    }
}

/// SQLite would open the file precious.db.
TEST_F(an_exported_trace, has_the_very_name_that_was_given) {
    std::ofstream(folder_.file("precious.db")) << "precious";
    const std::string name = "file:precious.db?x=.sqlite";
    const std::string tool = (std::filesystem::path(UNIBUF_BUILD_DIR) / "cli/unibuf").string();
    const outcome made = run("/usr/bin/env", {"-C", folder_.file(""), tool, "export", trace_, "-o", name});
    if (made.err.find("built without SQLite") != std::string::npos) GTEST_SKIP() << made.err;
    EXPECT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(text_of(folder_.file("precious.db")), "precious");
    EXPECT_TRUE(text_of(folder_.file(name)).starts_with("SQLite format 3"));
}

TEST_F(an_exported_trace, leaves_a_database_of_others_alone) {
    const std::string file = folder_.file("theirs.sqlite");
    const outcome made = run("/usr/bin/python3", {"-c", R"py(
import sqlite3, sys
at = sqlite3.connect(sys.argv[1])
at.execute("create table event(time integer)")
at.execute("insert into event values(7)")
at.commit()
)py",
                                                  file});
    ASSERT_EQ(made.status, 0) << made.err;
    const std::string before = text_of(file);
    expect_one_clear_line(export_to("theirs.sqlite"), "unibuf", "theirs.sqlite is there already");
    EXPECT_EQ(text_of(file), before);
}

TEST_F(an_exported_trace, never_takes_the_place_of_the_trace) {
    const std::string trace = folder_.file("trace.json");
    std::filesystem::copy(trace_, trace);
    const std::string before = text_of(trace);
    for (const char* const command : {"export", "report"}) {
        expect_one_clear_line(run("cli/unibuf", {command, trace, "-o", trace, "--force"}), "unibuf",
                              "the trace itself");
    }
    EXPECT_EQ(text_of(trace), before);
}

TEST_F(an_exported_trace, has_a_name_that_says_the_format) {
    expect_one_clear_line(export_to("trace.txt"), "unibuf", ".json or .sqlite");
    expect_one_clear_line(run("cli/unibuf", {"export", trace_, "-o", "/nonexistent/a.json"}), "unibuf", "No such file");
    const outcome database = run("cli/unibuf", {"export", trace_, "-o", "/nonexistent/a.sqlite"});
    expect_one_clear_line(database, "unibuf", "/nonexistent/a.sqlite");
}

}  // namespace
}  // namespace unibuf::cli::export_test
