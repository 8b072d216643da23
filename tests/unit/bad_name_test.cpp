// tests/unit/bad_name_test.cpp: names of spaces, shapes and counts that make no sense.
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "unit/common.hpp"

namespace unibuf::test::bad_name_test {
namespace {

using namespace std::string_view_literals;
using enum error_code;

TEST(nonsense_of_names, spaces) {
    struct row {
        std::string_view name;
        error_code code;
        std::string_view says;
    };
    const std::string long_name(1u << 20, 'x');
    const std::string long_number = "debug:" + std::string(1u << 20, '1');
    for (const row& each : std::vector<row>{
             {"", invalid_argument, "\"\" is no name of a space"},
             {":", invalid_argument, "\":\""},
             {":0", invalid_argument, "\":0\""},
             {"opencl", invalid_argument, "\"opencl\" is no name of a space: 'host', or a kind and a number"},
             {"opencl:", invalid_argument, "\"opencl:\""},
             {"opencl:x", invalid_argument, "\"opencl:x\""},
             {"cuda:x", invalid_argument, "\"cuda:x\""},
             {"debug:-1", invalid_argument, "\"debug:-1\""},
             {"debug:+0", invalid_argument, "\"debug:+0\""},
             {"debug: 0", invalid_argument, "\"debug: 0\""},
             {"debug:0 ", invalid_argument, "\"debug:0 \""},
             {" host", invalid_argument, "\" host\""},
             {"Host", invalid_argument, "\"Host\""},
             {"debug:00", invalid_argument, "\"debug:00\""},
             {"debug:0x0", invalid_argument, "\"debug:0x0\""},
             {"debug:0:0", invalid_argument, "\"debug:0:0\""},
             {"debug:0,host", invalid_argument, "\"debug:0,host\""},
             {"host:", invalid_argument, "\"host:\""},
             {"host:0", invalid_argument, "\"host:0\" is no name of a space: 'host', or"},
             {"debug:0\0"sv, invalid_argument, "is no name of a space"},
             {"debug:0\0x"sv, invalid_argument, "is no name of a space"},
             {"\0"sv, invalid_argument, "is no name of a space"},
             {"debug:0\n", invalid_argument, "\"debug:0\\n\""},
             {"d\xFF:0", invalid_argument, "is no name of a space"},
             {long_name, invalid_argument, "xxx\"... is no name of a space"},
             {long_number, invalid_argument, "111\"... is no name of a space"},
             {"abacus:0", invalid_argument, "'abacus:0' was asked for; this build knows host, debug:N"},
             {"debug:1", device_unavailable, "'debug:1' is not available: there is debug:0"},
             {"debug:18446744073709551616", device_unavailable, "there is debug:0"},
             {"opencl:31", device_unavailable, "'opencl:31' is not available: "},
             {"opengl:31", device_unavailable, "'opengl:31' is not available: "}}) {
        SCOPED_TRACE(each.name.substr(0, 40));
        const failure got = failure_of([&] { space{each.name}; });
        EXPECT_EQ(got.code, each.code);
        EXPECT_NE(got.message.find(each.says), std::string::npos) << got.message;
        EXPECT_LT(got.message.size(), 400u);
        EXPECT_EQ(got.message.find('\n'), std::string::npos) << got.message;
    }
    EXPECT_EQ(space("host"), host);
    EXPECT_EQ(space(std::string("debug:0")).name(), "debug:0");
}

TEST(nonsense_of_names, spaces_given_to_a_buffer) {
    buffer b(100);
    put(b, noise(100));
    EXPECT_EQ(failure_of([&] { b.read("debug:7"); }).code, device_unavailable);
    EXPECT_EQ(failure_of([&] { b.write("host:0"); }).code, invalid_argument);
    EXPECT_EQ(failure_of([&] { b.discard("nowhere:0"); }).code, invalid_argument);
    EXPECT_EQ(failure_of([&] { set_default_device("nowhere:0"); }).code, invalid_argument);
    EXPECT_EQ(failure_of([&] { buffer(1, {.device = "nowhere"}); }).code, invalid_argument);
    EXPECT_EQ(default_device(), host);
    EXPECT_TRUE(same(content(b), noise(100)));
}

TEST(nonsense_of_names, shapes) {
    constexpr std::size_t half = std::size_t{1} << 32;
    constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
    const auto refused = [](auto make, error_code code, const std::string& says) {
        const failure got = failure_of(make);
        EXPECT_EQ(got.code, code) << got.message;
        EXPECT_NE(got.message.find(says), std::string::npos) << got.message;
    };
    refused([] { shape(-1); }, invalid_argument, "an extent of -1");
    refused([] { shape(3, lowest); }, invalid_argument, std::to_string(lowest));
    refused([] { shape(0, -5); }, invalid_argument, "-5");
    refused([] { shape::of(std::vector<int>{4, -4}); }, invalid_argument, "-4");
    refused([] { shape::of(std::vector<int>(9, 1)); }, invalid_argument, "9 were asked for");
    refused([] { shape(half, half); }, out_of_memory, "2^64");
    refused(
        [] {
            shape(std::numeric_limits<int>::max(), std::numeric_limits<int>::max(), std::numeric_limits<int>::max());
        },
        out_of_memory, "2^64");
    refused([] { unified_buffer<float>({-2, 3}); }, invalid_argument, "-2");
    refused([] { unified_buffer<float>({1, 1, 1, 1, 1, 1, 1, 1, 1}); }, invalid_argument, "up to 8");
    refused([] { unified_buffer<float>({half, half / 4}); }, out_of_memory, "2^64 bytes");
    refused([] { unified_buffer<double>({half / 4, half / 2}); }, out_of_memory, "2^64 bytes");
    EXPECT_EQ(shape(0, half, half).elements(), 0u) << "no element is none, however long";
    EXPECT_EQ((unified_buffer<double>({std::size_t{0}, half, half}).size_bytes()), 0u);
}

/// Makes every call of typed buffers with counts of elements whose bytes cannot be counted, for element sizes with
/// which the bytes come out as special numbers. Each call is refused, and writes nothing.
TEST(nonsense_of_names, counts_of_elements) {
    struct three {
        char bytes[3];
    };
    struct five {
        char bytes[5];
    };
    const space device("debug:0");
    const default_device_is device_is_default(device);
    const auto check = [&]<class T>(T one) {
        unified_buffer<T> b({100});
        b.write(host).release();
        b.read(device).release();
        const bytes before = content(b.bytes());
        T out{};
        const std::span<const T> source(&one, 1);
        const std::span<T> target(&out, 1);
        batch updates(device);
        using call = std::function<void(std::size_t)>;
        const std::vector<std::pair<const char*, call>> calls = {
            {"view, offset", [&](std::size_t n) { b.view(n, 0); }},
            {"view, count", [&](std::size_t n) { b.view(0, n); }},
            {"read, offset", [&](std::size_t n) { b.read(host, {.offset = n}); }},
            {"read, count", [&](std::size_t n) { b.read(host, {.count = n}); }},
            {"write", [&](std::size_t n) { b.write(device, {.offset = n, .count = 1}); }},
            {"read_write", [&](std::size_t n) { b.read_write(device, {.offset = 1, .count = n}); }},
            {"lease_together", [&](std::size_t n) { lease_together(b.to_write(host, {.offset = n, .count = 1})); }},
            {"host_view", [&](std::size_t n) { b.host_view(n, 1); }},
            {"copy_view", [&](std::size_t n) { b.copy_view(device, n, 1); }},
            {"sync_to_host", [&](std::size_t n) { b.sync_to_host(n, 1); }},
            {"sync_to_device", [&](std::size_t n) { b.sync_to_device(n, 1); }},
            {"mark_host_dirty", [&](std::size_t n) { b.mark_host_dirty(0, n); }},
            {"mark_device_dirty", [&](std::size_t n) { b.mark_device_dirty(n, 1); }},
            {"mark_dirty, offset", [&](std::size_t n) { b.mark_dirty(device, n, 1); }},
            {"mark_dirty, options", [&](std::size_t n) { b.mark_dirty(host, {.offset = n, .count = 1}); }},
            {"prefetch", [&](std::size_t n) { b.prefetch(host, {.offset = 1, .count = n}); }},
            {"copy_from", [&](std::size_t n) { b.copy_from(source, n); }},
            {"copy_to", [&](std::size_t n) { b.copy_to(target, n); }},
            {"batch::write", [&](std::size_t n) { updates.write(b, source, n); }}};
        constexpr std::size_t largest = rest - 1;
        for (const std::size_t count :
             {std::size_t{101}, rest / sizeof(T), rest / sizeof(T) + 1, rest / sizeof(T) + 2, rest / 2, largest}) {
            if (count == rest || count < 100) continue;  // `rest` makes sense for single bytes
            for (const auto& [name, with] : calls) {
                EXPECT_EQ(failure_of([&] { with(count); }).code, out_of_range) << name << " of " << count;
            }
        }
        EXPECT_TRUE(same(content(b.bytes()), before));
        EXPECT_EQ(updates.size(), 0u);
    };
    check(char{7});
    check(std::int16_t{7});
    check(three{{7, 7, 7}});
    check(five{{7, 7, 7, 7, 7}});
    check(double{7});
}

}  // namespace
}  // namespace unibuf::test::bad_name_test
