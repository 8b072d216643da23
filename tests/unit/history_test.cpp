// tests/unit/history_test.cpp: a buffer against a byte-by-byte oracle, over random histories of operations.
//
// Each property is one arrangement of two devices beside the host; every other history is played on the C API. A
// history that goes wrong is made shorter until each of its operations matters, and printed: as it is, and as an input
// of the fuzzer, which tests/fuzz/corpus keeps. RapidCheck prints the seed first, also where the process ends in a
// history.
#include "support/history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

namespace rc {

template <>
struct Arbitrary<unibuf::test::operation> {
    static Gen<unibuf::test::operation> arbitrary() {
        using unibuf::test::operation;
        const auto byte = gen::inRange<int>(0, 256);
        const auto narrow = [](int value) { return static_cast<std::uint8_t>(value); };
        const auto bytes = [&](const auto& of) { return gen::map(of, narrow); };
        return gen::build<operation>(
            // Rectangles have many verbs of their own, and so come as often as five others.
            gen::set(&operation::does, gen::map(gen::inRange<int>(0, unibuf::test::verbs + 4),
                                                [](int does) {
                                                    constexpr int last = unibuf::test::verbs - 1;
                                                    return static_cast<unibuf::test::verb>(std::min(does, last));
                                                })),
            gen::set(&operation::where, bytes(gen::inRange<int>(0, 3))),
            gen::set(&operation::handle, bytes(gen::inRange<int>(0, 4))), gen::set(&operation::offset, bytes(byte)),
            gen::set(&operation::count, bytes(byte)), gen::set(&operation::value, bytes(byte)),
            gen::set(&operation::flags, bytes(gen::weightedElement<int>({{6, 0},
                                                                         {2, operation::partly},
                                                                         {2, operation::hold},
                                                                         {2, operation::on_queue},
                                                                         {1, operation::hold | operation::on_queue},
                                                                         {2, operation::look},
                                                                         {1, operation::give_up},
                                                                         {1, operation::beyond}}))));
    }
};

template <>
struct Arbitrary<unibuf::test::history> {
    static Gen<unibuf::test::history> arbitrary() {
        using unibuf::test::history;
        const auto byte =
            gen::map(gen::inRange<int>(0, 256), [](int value) { return static_cast<std::uint8_t>(value); });
        return gen::build<history>(
            gen::set(&history::hint, byte), gen::set(&history::size, byte), gen::set(&history::flags, byte),
            gen::set(&history::operations, gen::scale(8.0, gen::arbitrary<std::vector<unibuf::test::operation>>())));
    }
};

}  // namespace rc

namespace unibuf::test::history_test {
namespace {

const history* under_way = nullptr;

/// A debug build ends the process where a rule of the library is broken: the history is told then, as it was drawn.
void tell_history(int /*signal*/) {
    if (under_way) std::cerr << *under_way << as_input(*under_way) << '\n';
}

class a_history : public testing::TestWithParam<std::size_t> {};

TEST_P(a_history, ends_as_the_oracle_says) {
    const std::string missing = why_missing(arrangements()[GetParam()]);
    if (!missing.empty()) GTEST_SKIP() << missing;
    // The whole search for a shorter history takes minutes, and CTest ends such a test: who plays it again has the
    // time.
    using clock = std::chrono::steady_clock;
    const bool is_in_no_hurry = std::getenv("RC_PARAMS") != nullptr;
    constexpr std::chrono::seconds patience{30};
    std::size_t played = 0;
    std::optional<clock::time_point> first_failed;
    std::string shortest;
    const auto here = rc::gen::map(rc::gen::arbitrary<history>(), [](history of) {
        of.arrangement = static_cast<std::uint8_t>(GetParam());
        return of;
    });
    std::signal(SIGABRT, tell_history);
    const bool held = rc::check([&] {
        const history what = *here;
        if (first_failed && !is_in_no_hurry && clock::now() - *first_failed > patience) return;
        played += what.operations.size();
        under_way = &what;
        const std::string wrong = play(what);
        under_way = nullptr;
        if (wrong.empty()) return;
        shortest = (std::ostringstream() << what).str() + wrong + as_input(what);
        // What depends on time may not go wrong again when the history is made shorter.
        if (!first_failed) {
            std::cerr << "As it was drawn: " << wrong << as_input(what) << '\n';
            first_failed = clock::now();
        }
        RC_FAIL(wrong + as_input(what));
    });
    std::signal(SIGABRT, SIG_DFL);
    EXPECT_TRUE(held) << "The shortest that went wrong: " << shortest;
    RecordProperty("operations", static_cast<int>(played));
}

/// OpenCL fills memory that it shares with the host while the debug device makes stale bytes poison.
TEST(history, has_no_poison_in_what_a_device_is_filling) {
    const history what{.arrangement = 19,
                       .size = 25,
                       .operations = {{.does = verb::read, .where = 1, .flags = operation::look},
                                      {.does = verb::fill, .count = 74},
                                      {.does = verb::mark, .where = 1, .count = 7}}};
    const arrangement& devices = arrangements()[what.arrangement];
    ASSERT_STREQ(devices.name, "debug_and_opencl");
    if (const std::string missing = why_missing(devices); !missing.empty()) GTEST_SKIP() << missing;
    for (int i = 0; i < 100; ++i) ASSERT_EQ(play(what), "");
}

/// A device that shares the memory writes bytes of a unit in which the program's writes to others are looked for.
TEST(history, takes_what_a_device_wrote_beside_watched_bytes_for_no_write_of_the_program) {
    const auto kept = static_cast<std::uint8_t>(operation::hold | operation::on_queue);
    const history what{.arrangement = 12,
                       .size = 6,
                       .operations = {{.does = verb::host_write, .flags = operation::on_queue},
                                      {.does = verb::read, .where = 1, .flags = operation::look},
                                      {.does = verb::view, .count = 3},
                                      {.does = verb::fill, .handle = 1},
                                      {.does = verb::copy_from, .count = 2, .flags = kept},
                                      {.does = verb::write, .where = 1, .count = 164}}};
    ASSERT_STREQ(arrangements()[what.arrangement].name, "poisoning_and_asynchronous_aliasing");
    EXPECT_EQ(play(what), "");
}

/// A device that shares the memory is said to have newer bytes, which it never wrote, after the host wrote them: the
/// two may see different bytes, and a store of what the host sees already is none that could be found.
TEST(history, takes_no_value_for_known_where_a_mark_was_false) {
    const history what{
        .arrangement = 15,
        .size = 28,
        .operations = {
            {.does = verb::host_write, .flags = operation::hold},
            {.does = verb::release_host, .flags = operation::hold},
            {.does = verb::read, .flags = operation::look},
            {.does = verb::host_write_and_mark, .offset = 197, .count = 1, .value = 159, .flags = operation::hold},
            {.does = verb::mark, .where = 1, .offset = 4, .count = 120, .flags = operation::on_queue},
            {.does = verb::device_read},
            {.does = verb::rectangle, .handle = 2, .offset = 103, .count = 63, .value = 159}}};
    ASSERT_STREQ(arrangements()[what.arrangement].name, "aliasing_and_borrowing");
    EXPECT_EQ(play(what), "");
}

/// A pointer is out while two devices use the host's memory, one of them by a handle: the host may have written, so the
/// other is not known to be current, and the first may be the last that is.
TEST(history, vouches_for_no_copy_in_memory_that_a_pointer_shows) {
    const history what{.arrangement = 10,
                       .size = 10,
                       .operations = {{.does = verb::set_default, .where = 1, .flags = operation::on_queue},
                                      {.does = verb::host_write, .flags = operation::look},
                                      {.does = verb::write, .where = 1, .count = 43, .flags = operation::on_queue},
                                      {.does = verb::read, .where = 1, .flags = operation::look},
                                      {.does = verb::device_read, .flags = operation::partly},
                                      {.does = verb::release_host, .flags = operation::partly},
                                      {.does = verb::discard, .where = 0, .flags = operation::partly},
                                      {.does = verb::discard, .where = 1}}};
    ASSERT_STREQ(arrangements()[what.arrangement].name, "two_asynchronous_that_alias");
    EXPECT_EQ(play(what), "");
}

/// A fill fails after the call, on a device whose holds of the bytes are resumed then: neither may use what is lost.
TEST(history, lets_no_device_go_on_over_lost_bytes) {
    const history what{
        .arrangement = 6,
        .size = 1,
        .operations = {{.does = verb::bind, .where = 1, .count = 63, .value = 1, .flags = operation::hold},
                       {.does = verb::bind, .where = 1, .count = 7, .flags = operation::partly},
                       {.does = verb::host_write_and_mark, .count = 1, .flags = operation::give_up},
                       {.does = verb::fail, .count = 234},
                       {.does = verb::resume_hold, .flags = operation::give_up},
                       {.does = verb::fill, .value = 1, .flags = operation::hold | operation::on_queue},
                       {.does = verb::device_read}}};
    ASSERT_STREQ(arrangements()[what.arrangement].name, "asynchronous_addressable_and_separate");
    EXPECT_EQ(play(what), "");
}

/// A fill of bytes that nobody has written fails when it has filled a row, at the only copy that was made zero.
TEST(history, shows_zeros_everywhere_where_nothing_but_a_failed_fill_wrote) {
    const history what{
        .arrangement = 5,
        .size = 4,
        .operations = {{.does = verb::read, .flags = operation::look},
                       {.does = verb::fail, .count = 1},
                       {.does = verb::rectangle, .offset = 110, .value = 61, .flags = operation::give_up}}};
    ASSERT_STREQ(arrangements()[what.arrangement].name, "asynchronous_and_separate");
    EXPECT_EQ(play(what), "");
}

TEST(history, survives_its_encoding) {
    EXPECT_TRUE(rc::check(
        [](const history& what) { RC_ASSERT(history::decode(what.encode()).operations == what.operations); }));
}

TEST(history, that_failed_can_join_the_corpus) {
    history what{.arrangement = 1, .size = 25, .operations = {{.does = verb::write, .where = 1, .count = 255}}};
    EXPECT_THAT(as_input(what),
                testing::EndsWith(R"(printf '\x01\x00\x19\x00\x01\x01\x00\x00\xff\x00\x00' >tests/fuzz/corpus/NAME)"));
    what.arrangement = 19;
    EXPECT_STREQ(arrangements()[what.arrangement].real[1], "opencl:0");
    EXPECT_EQ(as_input(what), "");
}

INSTANTIATE_TEST_SUITE_P(arrangements, a_history, testing::Range(std::size_t{0}, arrangements().size()),
                         [](const auto& each) { return std::string(arrangements()[each.param].name); });

}  // namespace
}  // namespace unibuf::test::history_test
