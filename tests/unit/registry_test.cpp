// tests/unit/registry_test.cpp: names of buffers.
#include <array>
#include <atomic>
#include <complex>
#include <optional>
#include <thread>
#include <vector>

#include "unit/common.hpp"

namespace unibuf::test::registry_test {
namespace {

TEST(registry, gives_the_same_buffer_to_whoever_knows_its_name) {
    unified_buffer<float> frames({4, 5});
    get_registry().add("frames", frames);
    std::optional<unified_buffer<float>> found = get_registry().find<float>("frames");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->shape(), shape(4, 5));
    found->write(host)[7] = 3;
    EXPECT_EQ(frames.read(host)[7], 3);
    EXPECT_EQ(get_registry().names(), std::vector<std::string>{"frames"});
    EXPECT_TRUE(get_registry().remove("frames"));
    EXPECT_FALSE(get_registry().remove("frames"));
    EXPECT_FALSE(get_registry().find("frames"));
}

TEST(registry, keeps_no_buffer_unless_it_is_told_to) {
    std::optional<buffer> b(100);
    get_registry().add("weak", *b);
    b.reset();
    EXPECT_FALSE(get_registry().find("weak"));
    EXPECT_TRUE(get_registry().names().empty());

    b.emplace(100);
    b->write(host)[3] = std::byte{7};
    get_registry().add("kept", *b, true);
    b.reset();
    EXPECT_EQ(get_registry().find("kept")->bytes.read(host)[3], std::byte{7});
    EXPECT_TRUE(get_registry().remove("kept"));
    EXPECT_EQ(memory_in(host).held, 0u);
}

TEST(registry, knows_parts) {
    buffer b(100);
    buffer part = b.view(10, 20);
    get_registry().add("part", part);
    put(b, of(100, 5));
    EXPECT_EQ(content(get_registry().find("part")->bytes), of(20, 5));
}

TEST(registry, tells_what_the_elements_are) {
    unified_buffer<std::complex<float>> waves(3);
    unified_buffer<std::uint16_t> counts(3);
    unified_buffer<std::array<char, 12>> records(3);
    get_registry().add("waves", waves);
    get_registry().add("counts", counts);
    get_registry().add("records", records);
    EXPECT_EQ(get_registry().find("waves")->element, "<c8");
    EXPECT_EQ(get_registry().find("counts")->element, "<u2");
    EXPECT_EQ(get_registry().find("records")->element, "|V12");
    const failure wrong = failure_of([] { get_registry().find<float>("counts"); });
    EXPECT_EQ(wrong.code, error_code::invalid_argument);
    EXPECT_NE(wrong.message.find("'counts' was asked for with elements '<f4', but has '<u2'"), std::string::npos);
}

TEST(registry, refuses_names_that_are_taken_or_empty) {
    buffer first(10), second(10);
    get_registry().add("name", first);
    EXPECT_EQ(failure_of([&] { get_registry().add("name", second, true); }).code, error_code::invalid_argument);
    EXPECT_EQ(failure_of([&] { get_registry().add("", second); }).code, error_code::invalid_argument);
    EXPECT_EQ(get_registry().find("name")->bytes.id(), first.id());
}

TEST(registry, takes_no_shape_that_the_bytes_do_not_have) {
    buffer b(400);
    for (const shape& wrong : {shape(1000), shape(99), shape(std::size_t{1} << 62)}) {
        EXPECT_EQ(failure_of([&] { get_registry().add("array", b, wrong, "<i4"); }).code, error_code::invalid_argument);
    }
    for (const char* const wrong : {"", "<i", "i4", "<i4x", "<i0", "float"}) {
        EXPECT_EQ(failure_of([&] { get_registry().add("array", b, shape(100), wrong); }).code,
                  error_code::invalid_argument);
    }
    EXPECT_FALSE(get_registry().find("array"));
    get_registry().add("array", b, shape(25), "<U4");
    get_registry().remove("array");
    get_registry().add("array", b, shape(50), "<M8[ns]");
    get_registry().remove("array");
}

TEST(an_error, tells_bytes_that_are_no_text_as_numbers) {
    using namespace std::string_view_literals;
    buffer b(4);
    get_registry().add("a\0b\x1b"sv, b);
    const std::string why = failure_of([&] { get_registry().add("a\0b\x1b"sv, b); }).message;
    EXPECT_NE(why.find(R"('a\x00b\x1b', which is taken)"), std::string::npos) << why;
    get_registry().remove("a\0b\x1b"sv);
}

TEST(registry, forgets_what_is_released_to_a_pool) {
    memory_pool pool;
    buffer b = pool.acquire(1000);
    get_registry().add("pooled", b);
    pool.release(std::move(b));
    EXPECT_FALSE(get_registry().find("pooled"));
}

TEST(registry, finds_or_misses_a_buffer_that_goes_meanwhile) {
    std::atomic<bool> done = false;
    std::jthread seeker([&] {
        while (!done) {
            if (auto found = get_registry().find("brief")) {
                EXPECT_EQ(found->bytes.size_bytes(), 64u);
            }
        }
    });
    for (int i = 0; i < 2000; ++i) {
        buffer b(64);
        for (;;) {  // the seeker may keep the buffer of the round before for a moment
            try {
                get_registry().add("brief", b);
                break;
            } catch (const error&) {
                std::this_thread::yield();
            }
        }
    }
    done = true;
}

}  // namespace
}  // namespace unibuf::test::registry_test
