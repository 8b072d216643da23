// tests/unit/error_test.cpp: an error names the section of docs/errors.md that explains it, once.
#include <string>

#include "unit/common.hpp"

namespace unibuf::test {
namespace {

TEST(an_error, names_its_section_behind_its_message) {
    const error failed(error_code::out_of_range, "too far");
    EXPECT_EQ(failed.message(), "too far");
    EXPECT_STREQ(failed.what(), "too far [unibuf explain out_of_range]");
}

TEST(an_error, replaces_the_section_of_the_error_that_it_tells) {
    const error inner(error_code::out_of_range, "too far");
    const error failed(error_code::transfer_failed, std::string("no way: ") + inner.what());
    EXPECT_EQ(failed.message(), "no way: too far");
    EXPECT_STREQ(failed.what(), "no way: too far [unibuf explain transfer_failed]");
}

TEST(an_error, keeps_what_only_looks_like_a_section) {
    for (const char* const message :
         {"", "]", "[unibuf explain", "see [unibuf explain out_of_range] of [2]", "of [2]"}) {
        const error failed(error_code::timeout, message);
        EXPECT_EQ(failed.message(), message);
        EXPECT_EQ(failed.what(), message + std::string(" [unibuf explain timeout]"));
    }
}

TEST(an_error_that_is_told_on_the_way_up, names_one_section) {
    buffer b(2000);
    put(b, of(2000, 1));
    limit_memory("debug:0", 1000);
    try {
        b.read("debug:0");
        ADD_FAILURE() << "there is room";
    } catch (const error& failed) {
        const std::string_view message = failed.message();
        EXPECT_EQ(message.find("[unibuf explain"), std::string::npos) << message;
    }
    limit_memory("debug:0", no_memory_limit);
}

}  // namespace
}  // namespace unibuf::test
