// tests/cli/report_test.cpp: the page of a report, in a browser without a window.
#include <fstream>

#include "cli/program.hpp"

namespace unibuf::cli::report_test {
namespace {

/// The page of a program with a fault, and what a browser makes of it.
class a_page : public testing::Test {
protected:
    void SetUp() override {
        const std::string trace = folder_.file("a <b>&'\".trace");
        ASSERT_EQ(run("tests/faults", {"round_trip"}, {{"UNIBUF_TRACE", trace}, {"UNIBUF_TRACE_CLOSE", "1"}}).status,
                  0);
        const outcome made = run("cli/unibuf", {"report", trace, "-o", page_});
        ASSERT_EQ(made.status, 0) << made.err;
        headline_ = made.out;
        text_ = text_of(page_);
    }

    /// Returns the document after its scripts have run, in a window of this width. A last script notes in attributes of
    /// <body> what only a browser knows.
    std::string opened(int width, const std::string& mode = "light") {
        const std::string noted = folder_.file("noted.html");
        std::ofstream(noted) << R"(<script>var failures = ""; onerror = told => failures += told;</script>)" << text_
                             << R"(
            <script>
                document.body.dataset.failures = failures;
                document.body.dataset.overflows = document.documentElement.scrollWidth > innerWidth;
                document.body.dataset.paper = getComputedStyle(document.body).backgroundColor;
                document.body.dataset.drawn = [...document.querySelectorAll("canvas")].filter(
                    each => each.getContext("2d").getImageData(0, 0, each.width, each.height).data.some(byte => byte)).length;
            </script>)";
        const outcome got =
            run("/usr/bin/chromium-headless-shell",
                {"--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom",
                 "--user-data-dir=" + folder_.file("browser"), "--host-resolver-rules=MAP * ~NOTFOUND",
                 "--window-size=" + std::to_string(width) + ",900",
                 mode == "dark" ? "--blink-settings=preferredColorScheme=0" : "--blink-settings=preferredColorScheme=1",
                 "file://" + noted});
        EXPECT_EQ(got.status, 0) << got.err;
        return got.out;
    }

    scratch folder_;
    std::string page_ = folder_.file("report.html");
    std::string headline_;
    std::string text_;
};

/// Returns whether <body> has this attribute.
bool says(const std::string& page, const std::string& name, const std::string& value) {
    return page.find("data-" + name + "=\"" + value + "\"") != std::string::npos;
}

bool has_browser() { return std::filesystem::exists("/usr/bin/chromium-headless-shell"); }

TEST_F(a_page, comes_with_the_headline_and_its_path) {
    EXPECT_TRUE(headline_.starts_with("moved / least needed: ")) << headline_;
    EXPECT_TRUE(headline_.ends_with("\n" + page_ + "\n")) << headline_;
}

TEST_F(a_page, loads_nothing) {
    for (const char* const reference : {" src=", " href=", "@import", "url("}) {
        EXPECT_EQ(text_.find(reference), std::string::npos) << reference;
    }
}

TEST_F(a_page, shows_findings_tables_and_charts) {
    if (!has_browser()) GTEST_SKIP() << "there is no chromium-headless-shell";
    const std::string got = opened(1000);
    EXPECT_TRUE(says(got, "failures", "")) << got.substr(got.find("<body"), 300);
    for (const char* const part : {"<b>round_trip</b>", "none of them", "<td class=\"text\">host to debug:0</td>",
                                   "a &lt;b&gt;&amp;'\".trace"}) {
        EXPECT_NE(got.find(part), std::string::npos) << part;
    }
    if (got.find("<p>There is no chart here") != std::string::npos) GTEST_SKIP() << "this tool has no Chart.js";
    EXPECT_TRUE(says(got, "drawn", "2"));
}

TEST_F(a_page, fits_a_phone) {
    if (!has_browser()) GTEST_SKIP() << "there is no chromium-headless-shell";
    EXPECT_TRUE(says(opened(390), "overflows", "false"));
}

TEST_F(a_page, is_light_or_dark_as_the_reader_wants) {
    if (!has_browser()) GTEST_SKIP() << "there is no chromium-headless-shell";
    EXPECT_TRUE(says(opened(1000), "paper", "rgb(255, 255, 255)"));
    EXPECT_TRUE(says(opened(1000, "dark"), "paper", "rgb(20, 23, 27)"));
}

TEST(a_page_that_cannot_be_written, is_told) {
    const scratch folder;
    const std::string trace = folder.file("trace");
    ASSERT_EQ(run("tests/faults", {"churn"}, {{"UNIBUF_TRACE", trace}}).status, 0);
    expect_one_clear_line(run("cli/unibuf", {"report", trace, "-o", "/nonexistent/page"}), "unibuf", "No such file");
    expect_one_clear_line(run("cli/unibuf", {"report", trace, "-o", "/dev/full"}), "unibuf", "No space left");
}

}  // namespace
}  // namespace unibuf::cli::report_test
