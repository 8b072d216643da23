// tests/cli/explain_test.cpp: `unibuf explain`, which has docs/errors.md inside.
#include <string>

#include "cli/program.hpp"
#include "unibuf/error.hpp"

namespace unibuf::cli {
namespace {

outcome explained(const std::vector<std::string>& codes) {
    std::vector<std::string> arguments = codes;
    arguments.insert(arguments.begin(), "explain");
    return run("cli/unibuf", arguments);
}

TEST(explain, lists_each_code_with_what_it_means) {
    const outcome got = explained({});
    EXPECT_EQ(got.status, 0);
    EXPECT_EQ(got.err, "");
    std::size_t at = 0;
    for (int code = 0; code <= static_cast<int>(error_code::unsupported); ++code) {
        const std::string name(to_string(static_cast<error_code>(code)));
        EXPECT_TRUE(std::string_view(got.out).substr(at).starts_with(name + " ")) << name << " in: " << got.out;
        at = got.out.find('\n', at) + 1;
    }
    EXPECT_TRUE(std::string_view(got.out).substr(at).starts_with("notes ")) << got.out;
    EXPECT_EQ(got.out.find('\n', at) + 1, got.out.size()) << got.out;
}

TEST(explain, prints_a_section_for_each_code_as_text) {
    for (int code = 0; code <= static_cast<int>(error_code::unsupported); ++code) {
        const std::string name(to_string(static_cast<error_code>(code)));
        const outcome got = explained({name});
        EXPECT_EQ(got.status, 0);
        EXPECT_EQ(got.err, "");
        EXPECT_TRUE(got.out.starts_with(name + "\n\n")) << got.out;
        EXPECT_NE(got.out.find("error_code::" + name), std::string::npos) << got.out;
        EXPECT_NE(got.out.find("\n### `"), std::string::npos) << got.out;
        for (const char* const markup : {"```", "<!--", "\n## "}) {
            EXPECT_EQ(got.out.find(markup), std::string::npos) << markup << " in: " << got.out;
        }
    }
}

TEST(explain, indents_code) {
    const outcome got = explained({"out_of_range"});
    EXPECT_NE(got.out.find("\n    unibuf::unified_buffer<float> image(100);"), std::string::npos) << got.out;
    EXPECT_NE(got.out.find("\n        assert("), std::string::npos) << got.out;
}

TEST(explain, names_the_codes_where_there_is_no_such_one) {
    for (const std::string nonsense : {"nonsense", "", "out_of", "OUT_OF_RANGE", "two\nlines"}) {
        const outcome got = explained({nonsense});
        EXPECT_EQ(got.status, 2);
        EXPECT_EQ(got.out, "");
        expect_one_clear_line(got, "unibuf", "is none of not_allocated, out_of_memory, ");
    }
    EXPECT_EQ(explained({"timeout", "unsupported"}).status, 2);
}

}  // namespace
}  // namespace unibuf::cli
