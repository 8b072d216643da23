// tests/cli/lines_test.cpp: the lines of programs that a trace names, which may name anything.
#include <sys/stat.h>

#include <chrono>
#include <sstream>

#include "addr2line.hpp"
#include "cli/forged_trace.hpp"
#include "cli/program.hpp"

namespace unibuf::cli::lines_test {
namespace {

using namespace std::chrono_literals;

const std::string program = (std::filesystem::path(UNIBUF_BUILD_DIR) / "tests/traced").string();

/// Makes a program of a folder's own that the shell runs.
void make_script(const scratch& folder, const std::string& name, const std::string& text) {
    std::ofstream(folder.file(name)) << "#!/bin/sh\n" << text << '\n';
    ::chmod(folder.file(name).c_str(), 0700);
}

/// A trace, and readers of programs that note how they are called.
class a_trace_of_anywhere : public testing::Test {
protected:
    a_trace_of_anywhere() {
        for (const char* const name : {"llvm-addr2line", "addr2line"}) {
            make_script(tools_, name,
                        "echo \"$*\" >>" + tools_.file("arguments") + "; cat >>" + tools_.file("addresses") +
                            "; env >>" + tools_.file("environment"));
        }
    }

    /// Runs all that reads a trace, in one process after the other.
    void read_all() {
        made_.name(trace::named::space, 1, "\x1b]0;owned\x07\x1b[31mred");
        made_.name(trace::named::buffer, 1, "\x1b[2J");
        made_.transfer(number_++, "\x1b[5m" + program + "+0x1");
        made_.write(trace_);
        const std::string path = tools_.file("") + ":/usr/bin:/bin";
        for (std::vector<std::string> each : {std::vector<std::string>{"report", trace_},
                                              {"report", trace_, "--json"},
                                              {"report", trace_, "-o", folder_.file("page.html")},
                                              {"why", trace_, "1"},
                                              {"check", trace_, "--max", "*:*=1TB"},
                                              {"doctor", trace_},
                                              {"export", trace_, "-o", folder_.file("all.json")},
                                              {"export", trace_, "-o", folder_.file("all.sqlite")}}) {
            const outcome got = run("cli/unibuf", each, {{"PATH", path}, {"DEBUGINFOD_URLS", "http://localhost:1"}});
            if (got.err.find("without SQLite") != std::string::npos) continue;
            EXPECT_TRUE(got.status == 0 || got.status == 3) << each[0] << ": " << got.err;
            const bool is_for_people = each.size() == 2 || each[0] == "why";
            EXPECT_FALSE(is_for_people && (got.out + got.err).find('\x1b') != std::string::npos) << each[0];
            EXPECT_EQ(got.err.find("are no address of a program") != std::string::npos, each[0] != "check") << each[0];
        }
    }

    scratch folder_;
    scratch tools_;
    std::string trace_ = folder_.file("trace");
    forged_trace made_;
    std::uint64_t number_ = 1;
};

TEST_F(a_trace_of_anywhere, runs_no_command) {
    const std::string mark = folder_.file("ran");
    const std::vector<std::string> commands = {"/a+0x1;touch " + mark + ";: #",
                                               program + "+0x1;touch " + mark + ";: #",
                                               program + "+0x1 $(touch " + mark + ")",
                                               program + "+0x1`touch " + mark + "`",
                                               program + "+0x1\ntouch " + mark,
                                               "';touch " + mark + ";'+0x1",
                                               "$(touch " + mark + ")+0x1",
                                               "--help+0x1",
                                               "@" + mark + "+0x1",
                                               program + "+0x11112222333344445",
                                               program + "+0x",
                                               program + "+0x-1",
                                               program + "+0x12 --output=" + mark,
                                               program + "+0x1234"};
    for (const std::string& each : commands) made_.transfer(number_++, each);
    read_all();
    EXPECT_FALSE(std::filesystem::exists(mark));
    std::vector<std::string> known = {"all.json", "all.sqlite", "page.html", "trace"};
    if (!std::filesystem::exists(folder_.file("all.sqlite"))) std::erase(known, "all.sqlite");
    EXPECT_EQ(folder_.files(), known);
    std::istringstream arguments(text_of(tools_.file("arguments"))), addresses(text_of(tools_.file("addresses")));
    int calls = 0;
    for (std::string line; std::getline(arguments, line); ++calls) EXPECT_EQ(line, "-a -i -e /proc/self/fd/3");
    EXPECT_GT(calls, 0) << "the last place is one";
    for (std::string line; std::getline(addresses, line);) {
        EXPECT_EQ(line, "0x1234");
    }
    EXPECT_EQ(text_of(tools_.file("environment")).find("DEBUGINFOD_URLS"), std::string::npos);
}

TEST_F(a_trace_of_anywhere, opens_programs_alone) {
    ASSERT_EQ(::mkfifo(folder_.file("fifo").c_str(), 0600), 0);
    std::ofstream(folder_.file("text")) << "no program";
    std::filesystem::create_symlink("/dev/zero", folder_.file("link"));
    for (const std::string& each :
         {std::string("/dev/zero"), std::string("/dev/urandom"), std::string("/dev/tty"), std::string("/dev/stdin"),
          std::string("/proc/self/mem"), std::string("/proc/kmsg"), std::string(""), std::string("/"),
          folder_.file("fifo"), folder_.file("text"), folder_.file("link"), folder_.file("missing")}) {
        made_.transfer(number_++, each + "+0x12");
    }
    read_all();
    EXPECT_FALSE(std::filesystem::exists(tools_.file("arguments"))) << text_of(tools_.file("arguments"));
}

TEST(a_reader_of_programs, is_ended_at_its_time_and_leaves_no_process) {
    const scratch folder;
    make_script(folder, "reader", "echo 0x12; exec sleep 1000");
    const auto soon = std::chrono::steady_clock::now() + 100ms;
    EXPECT_EQ(unibuf_cli::told_by(folder.file("reader").c_str(), program, "0x12\n", soon), "");
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "there is a child";
}

TEST(a_reader_of_programs, may_say_nothing_or_much) {
    const scratch folder;
    const auto told = [&](const std::string& script) {
        make_script(folder, "reader", script);
        return unibuf_cli::told_by(folder.file("reader").c_str(), program, std::string(300'000, '1'),
                                   std::chrono::steady_clock::now() + 60s);
    };
    EXPECT_EQ(told("cat | wc -c"), "300000\n");
    EXPECT_EQ(told("cat; cat <&3 >/dev/null").size(), 300'000u);
    EXPECT_EQ(told("kill -9 $$"), "");
    EXPECT_EQ(unibuf_cli::told_by("/nonexistent", program, "0x1\n", std::chrono::steady_clock::now() + 60s), "");
}

TEST(a_reader_of_programs, has_little_memory) {
    const scratch folder;
    make_script(folder, "reader",
                "until [ $(ulimit -t) != unlimited ]; do sleep 0.01; done; ulimit -c; ulimit -d; ulimit -t");
    const std::string limits =
        unibuf_cli::told_by(folder.file("reader").c_str(), program, "0x1\n", std::chrono::steady_clock::now() + 60s);
    EXPECT_EQ(limits.substr(0, 2), "0\n");
    EXPECT_EQ(limits.find("unlimited"), std::string::npos) << limits;
}

TEST(lines, are_found_for_many_places) {
    const scratch folder;
    const std::string one = folder.file("one"), many = folder.file("many"), out = folder.file("many.json");
    ASSERT_EQ(run("tests/traced", {}, {{"UNIBUF_TRACE", one}}).status, 0);
    std::string place;
    for (const auto& [number, text] : read_trace(one).sites) {
        const bool is_in_program = text.find("traced+0x") != std::string::npos;
        if (is_in_program && run("cli/unibuf", {"report", one}).out.find("traced.c:13: " + text) != std::string::npos) {
            place = text;
        }
    }
    if (place.empty()) GTEST_SKIP() << "there is no addr2line";
    constexpr std::size_t count = 20'000;
    forged_trace made;
    for (std::size_t i = 1; i <= count; ++i) made.transfer(i, place);
    made.write(many);
    ASSERT_EQ(run("cli/unibuf", {"export", many, "-o", out}).status, 0);
    const std::string text = text_of(out);
    std::size_t found = 0;
    for (std::size_t at = text.find("traced.c:13: "); at != std::string::npos;
         at = text.find("traced.c:13: ", at + 1)) {
        ++found;
    }
    EXPECT_EQ(found, count);
}

}  // namespace
}  // namespace unibuf::cli::lines_test
