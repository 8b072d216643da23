// tests/cli/report_test.cpp: the page of a report, in a browser without a window.
#include <fstream>
#include <vector>

#include "cli/forged_trace.hpp"
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

/// Returns how often a page has a text.
std::size_t times(const std::string& page, const std::string& text) {
    std::size_t result = 0;
    for (std::size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) ++result;
    return result;
}

/// Texts in which HTML, a script or JSON sees more than a text.
const std::vector<std::string> hostile = {"<!--<script>",
                                          "</script><script>hostile()</script>",
                                          "<!-- ",
                                          "--><b>bold</b>",
                                          "<![CDATA[",
                                          "<img src=x onerror=hostile()>",
                                          "\\u003cscript\\u003e",
                                          "\"}];hostile();//",
                                          "'+hostile()+'",
                                          "${hostile()}`",
                                          "\xff\xfe\xc0\xaf",
                                          "\xe2\x80\xa8\xe2\x80\xae",
                                          "@data@",
                                          "@chart_library@",
                                          std::string("\x01\x1b[31m\r\n\t"),
                                          "__proto__"};

TEST(a_page_of_a_hostile_trace, holds_its_texts_and_no_more) {
    const scratch folder;
    const std::string trace = folder.file("<!--<script>"), page = folder.file("page.html");
    std::uint64_t number = 0;
    forged_trace made;
    for (const std::string& each : hostile) {
        ++number;
        made.name(trace::named::buffer, number, each);
        made.name(trace::named::space, number % 20 + 1, each);
        made.name(trace::named::site, number, each);
        for (const event_kind kind : {event_kind::allocation, event_kind::transfer}) {
            made.add({.time = 1'000'000'000 * number,
                      .kind = kind,
                      .why = cause::prefetch,
                      .to = static_cast<std::uint8_t>(number % 20 + 1),
                      .is_demand = false,
                      .process = 1,
                      .buffer = number,
                      .end = 1'000'000,
                      .bytes = 1'000'000,
                      .took = 2'000'000,
                      .site = number});
        }
    }
    made.write(trace);
    ASSERT_EQ(run("cli/unibuf", {"report", trace, "-o", page}).status, 0);
    const outcome parsed = run("/usr/bin/python3", {"-c", R"(
import html.parser, json, sys

class reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.scripts, self.inside = [], [], False

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data

page = open(sys.argv[1], encoding="utf-8").read()
read = reader()
read.feed(page)
print(*read.tags)
data = read.scripts[0]
assert "<" not in data
for each in json.loads(data)["buffers"]:
    print(json.dumps(each["name"]))
)",
                                                    page});
    ASSERT_EQ(parsed.status, 0) << parsed.err;
    const std::string tags = parsed.out.substr(0, parsed.out.find('\n'));
    EXPECT_EQ(tags, "html meta meta title style body h1 main script script script");
    EXPECT_EQ(std::ranges::count(parsed.out, '\n'), static_cast<std::ptrdiff_t>(hostile.size()) + 1) << parsed.out;
    EXPECT_NE(parsed.out.find("<!--<script>\""), std::string::npos) << parsed.out;

    if (!has_browser()) GTEST_SKIP() << "there is no chromium-headless-shell";
    const outcome shown =
        run("/usr/bin/chromium-headless-shell",
            {"--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom",
             "--user-data-dir=" + folder.file("browser"), "--host-resolver-rules=MAP * ~NOTFOUND", "file://" + page});
    EXPECT_EQ(shown.status, 0) << shown.err;
    const std::string body = shown.out.substr(shown.out.find("<main"), shown.out.rfind("<script type"));
    EXPECT_NE(body.find("&lt;!--&lt;script&gt;"), std::string::npos) << body.substr(0, 2000);
    EXPECT_NE(body.find("<b>unread_copy</b>"), std::string::npos);
    for (const char* const none : {"<img", "<b>bold", "<!--"}) EXPECT_EQ(times(body, none), 0u) << none;
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
