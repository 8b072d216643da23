// tests/unit/bad_input_test.cpp: nonsense is refused with the right code, in words that help, and changes nothing.
#include <functional>
#include <thread>
#include <utility>

#include "unit/common.hpp"

namespace unibuf::test::bad_input_test {
namespace {

using enum error_code;

constexpr std::size_t size = 1000;
constexpr std::size_t largest = static_cast<std::size_t>(-1);

struct row {
    const char* what;
    std::function<void(buffer&)> does;
    error_code code;
    std::vector<std::string> says;
};

void expect_refused(const row& each, buffer& b) {
    SCOPED_TRACE(each.what);
    const buffer_state state = b.state();
    const std::uint64_t moved = b.statistics().bytes_moved();
    const failure got = failure_of([&] { each.does(b); });
    EXPECT_EQ(got.code, each.code) << got.message;
    for (const std::string& word : each.says) {
        EXPECT_NE(got.message.find(word), std::string::npos) << "no '" << word << "' in: " << got.message;
    }
    EXPECT_EQ(got.message.find('\n'), std::string::npos) << got.message;
    EXPECT_EQ(b.state(), state);
    EXPECT_EQ(b.ranges(), 1u);
    EXPECT_EQ(b.statistics().bytes_moved(), moved);
}

std::string name_of(const buffer& b) {
    return "buffer #" + std::to_string(b.id()) + " (" + std::to_string(b.size_bytes()) + " bytes)";
}

class nonsense : public testing::Test {
protected:
    /// Expects each row to be refused when both copies exist, when they are in step, and with a device copy alone.
    void expect_all_refused(std::vector<row> rows) {
        for (row& each : rows) each.says.push_back(name_of(b));
        put(b, noise(size));
        for (const row& each : rows) expect_refused(each, b);
        b.sync_to_device();
        for (const row& each : rows) expect_refused(each, b);
        b.discard(host);
        for (const row& each : rows) expect_refused(each, b);
        EXPECT_TRUE(same(content(b, device), noise(size)));
        EXPECT_TRUE(same(content(b), noise(size)));
    }

    const space device{"debug:0"};
    const default_device_is device_is_default{device};
    buffer b{size};
};

TEST_F(nonsense, outside_the_buffer) {
    struct outside {
        std::size_t offset, count;
        std::vector<std::string> says;
    };
    const std::vector<outside> ranges = {
        {size + 1, rest, {"byte 1001", "1000 bytes"}}, {size + 1, 0, {"0 bytes from byte 1001"}},
        {size, 1, {"1 bytes from byte 1000"}},         {0, size + 1, {"1001 bytes from byte 0"}},
        {999, 2, {"2 bytes from byte 999"}},           {largest, rest, {"18446744073709551615"}},
        {largest, 1, {"18446744073709551615"}},        {largest - 1, 3, {"18446744073709551614"}},
        {1, largest - 1, {"18446744073709551614"}},    {10, largest - 9, {"18446744073709551606"}}};
    std::vector<row> rows;
    for (const auto& [offset, count, says] : ranges) {
        const access_options options{.offset = offset, .count = count};
        const auto refused = [&, &words = says](const char* what, std::function<void(buffer&)> does) {
            rows.push_back({what, std::move(does), out_of_range, words});
        };
        for (const space where : {host, device}) {
            refused("read", [=](buffer& of) { of.read(where, options); });
            refused("write", [=](buffer& of) { of.write(where, options); });
            refused("read_write", [=](buffer& of) { of.read_write(where, options); });
            refused("prefetch", [=](buffer& of) { of.prefetch(where, options); });
            refused("mark", [=](buffer& of) { of.mark_dirty(where, options.offset, options.count); });
        }
        refused("sync_to_host", [=](buffer& of) { of.sync_to_host(options.offset, options.count); });
        refused("sync_to_device", [=](buffer& of) { of.sync_to_device(options.offset, options.count); });
        refused("mark_host_dirty", [=](buffer& of) { of.mark_host_dirty(options.offset, options.count); });
        refused("mark_device_dirty", [=](buffer& of) { of.mark_device_dirty(options.offset, options.count); });
        refused("view", [=](buffer& of) { of.view(options.offset, options.count); });
    }
    bytes data(size + 1);
    for (const auto& each : {std::pair{size + 1, std::size_t{0}}, {2, 999}, {1, 1000}, {0, 1001}}) {
        const std::span some = std::span(data).first(each.first);
        const std::size_t offset = each.second;
        const std::string words = std::to_string(some.size()) + " bytes from byte " + std::to_string(offset);
        rows.push_back({"copy_from", [=](buffer& of) { of.copy_from(some, offset); }, out_of_range, {words}});
        rows.push_back({"copy_to", [=](buffer& of) { of.copy_to(some, offset); }, out_of_range, {words}});
    }
    expect_all_refused(std::move(rows));
    EXPECT_EQ(data, bytes(size + 1)) << "nothing came";
}

TEST_F(nonsense, outside_a_view) {
    expect_all_refused(
        {{"inside the buffer, outside the view",
          [](buffer& of) { of.view(100, 50).read(host, {.offset = 40, .count = 11}); },
          out_of_range,
          {"11 bytes from byte 40", "50 bytes"}},
         {"before it",
          [](buffer& of) { of.view(100, 50).write(host, {.offset = largest - 9, .count = 5}); },
          out_of_range,
          {}},
         {"of a view", [](buffer& of) { of.view(100, 50).view(20, 31); }, out_of_range, {}},
         {"fill", [](buffer& of) { of.view(100, 50).fill(noise(100)); }, invalid_argument, {"50", "100"}},
         {"copy_from", [](buffer& of) { of.view(100, 50).copy_from(noise(51)); }, out_of_range, {"51"}}});
}

TEST_F(nonsense, patterns_that_do_not_fit) {
    expect_all_refused({{"empty", [](buffer& of) { of.fill({}); }, invalid_argument, {"pattern of 0", "divide"}},
                        {"7", [](buffer& of) { of.fill(noise(7)); }, invalid_argument, {"1000 bytes", "pattern of 7"}},
                        {"16", [](buffer& of) { of.fill(noise(16)); }, invalid_argument, {"pattern of 16"}},
                        {"long", [](buffer& of) { of.fill(noise(2000)); }, invalid_argument, {"pattern of 2000"}}});
    buffer(0).fill({});
}

TEST_F(nonsense, copies_that_are_not_there) {
    const std::vector<row> rows = {
        {"mark_host_dirty", [](buffer& of) { of.mark_host_dirty(); }, not_allocated, {"mark", "host", "access it"}},
        {"mark_device_dirty", [](buffer& of) { of.mark_device_dirty(); }, not_allocated, {"debug:0"}},
        {"mark_dirty", [](buffer& of) { of.mark_dirty("debug:0", 1, 2); }, not_allocated, {"debug:0"}},
        {"mark nothing", [](buffer& of) { of.mark_dirty("debug:0", 0, 0); }, not_allocated, {"debug:0"}},
        {"sync_to_host", [](buffer& of) { of.sync_to_host(); }, not_allocated, {"synchronize", "access it"}},
        {"sync_to_device", [](buffer& of) { of.sync_to_device(3, 4); }, not_allocated, {"synchronize"}},
        {"placement", [](buffer& of) { of.placement("debug:0"); }, not_allocated, {"placement", "debug:0"}}};
    for (row each : rows) {
        each.says.push_back(name_of(b));
        expect_refused(each, b);
    }
    EXPECT_EQ(b.state(), buffer_state::uninitialized) << "and none was made";
    put(b, noise(size));
    EXPECT_EQ(failure_of([&] { b.mark_device_dirty(); }).code, not_allocated);
    EXPECT_EQ(failure_of([&] { b.placement(device); }).code, not_allocated);
    b.sync_to_device();
    b.discard(host);
    EXPECT_EQ(failure_of([&] { b.mark_host_dirty(); }).code, not_allocated);
    EXPECT_TRUE(same(content(b), noise(size)));
}

TEST_F(nonsense, the_last_copy_dropped) {
    put(b, noise(size));
    const std::vector<std::string> says = {"host", "bytes [0, 1000)", "discard_content", name_of(b)};
    expect_refused({"host", [](buffer& of) { of.discard(host); }, access_conflict, says}, b);
    b.sync_to_device();
    b.mark_device_dirty(100, 50);
    const failure got = failure_of([&] { b.discard(device); });
    EXPECT_EQ(got.code, access_conflict);
    EXPECT_NE(got.message.find("debug:0 was asked for, but bytes [100, 150)"), std::string::npos) << got.message;
    b.sync_to_host();
    b.host();
    EXPECT_EQ(failure_of([&] { b.discard(host); }).code, access_conflict) << "it may have been written since";
    EXPECT_TRUE(same(content(b), noise(size)));
}

TEST_F(nonsense, against_the_options_of_the_buffer) {
    buffer output(size, {.access = host_access::read_only});
    put(output, noise(size), device);
    const std::vector<std::string> only_read = {"read_only", "host", name_of(output)};
    for (const row& each :
         std::vector<row>{{"write", [](buffer& of) { of.write(host); }, invalid_argument, only_read},
                          {"part", [](buffer& of) { of.view(1, 2).write(host); }, invalid_argument, only_read},
                          {"read_write", [](buffer& of) { of.read_write(host); }, invalid_argument, only_read},
                          {"copy_from", [](buffer& of) { of.copy_from(noise(3)); }, invalid_argument, only_read}}) {
        expect_refused(each, output);
        EXPECT_TRUE(same(content(output), noise(size)));
        expect_refused(each, output);
    }
    buffer input(size, {.access = host_access::write_only});
    put(input, noise(size));
    bytes out(size);
    const std::vector<std::string> only_written = {"write_only", "host", name_of(input)};
    for (const row& each : std::vector<row>{
             {"read", [](buffer& of) { of.read(host); }, invalid_argument, only_written},
             {"read_write", [](buffer& of) { of.read_write(host); }, invalid_argument, only_written},
             {"copy_to", [&](buffer& of) { of.copy_to(out); }, invalid_argument, only_written},
             {"host() for reading", [&](buffer& of) { std::as_const(of).host(); }, invalid_argument, only_written},
             {"sync_to_host", [&](buffer& of) { of.sync_to_host(); }, invalid_argument, only_written}}) {
        expect_refused(each, input);
        EXPECT_TRUE(same(content(input, device), noise(size)));
        expect_refused(each, input);
    }
    EXPECT_EQ(out, bytes(size));
}

/// What the host may do does not depend on what has been done before, nor on whether all bytes are asked for.
TEST_F(nonsense, reads_of_what_the_host_may_only_write_whatever_came_before) {
    buffer input(size, {.access = host_access::write_only});
    const auto refused = [&](const auto& access) { EXPECT_EQ(failure_of(access).code, invalid_argument); };
    for (int i = 0; i < 2; ++i) {
        input.write(host).release();
        refused([&] { input.read_write(host); });
        refused([&] { input.read_write(host, {.count = 1}); });
        refused([&] { input.read(host); });
        input.host();
        refused([&] { std::as_const(input).host(); });
        input.release_host();
        set_default_device(host);
        std::as_const(input).host();  // the host is the device now, and reads what it is for
        set_default_device(device);
    }
    input.write(host).release();
}

TEST_F(nonsense, memory_that_cannot_be_had) {
    const std::uint64_t held = memory_in_all().held;
    for (const std::size_t huge :
         {largest, largest - 1, largest - 63, largest - 4095, largest / 2, std::size_t{1} << 60}) {
        buffer absurd(huge);
        EXPECT_EQ(absurd.size_bytes(), huge);
        for (const space where : {host, device}) {
            const std::vector<std::string> says = {name_of(absurd), "a copy at " + where.name()};
            for (const row& each : std::vector<row>{
                     {"read", [=](buffer& of) { of.read(where); }, out_of_memory, says},
                     {"write", [=](buffer& of) { of.write(where, {.offset = 5, .count = 3}); }, out_of_memory, says},
                     {"prefetch", [=](buffer& of) { of.prefetch(where); }, out_of_memory, says},
                     {"raw",
                      [=](buffer& of) {
                          where == host ? static_cast<void>(of.host()) : static_cast<void>(of.device());
                      },
                      out_of_memory, says}}) {
                expect_refused(each, absurd);
            }
        }
        EXPECT_EQ(failure_of([&] { absurd.fill(noise(1)); }).code, out_of_memory);
        EXPECT_EQ(failure_of([&] { absurd.copy_from(noise(1)); }).code, out_of_memory);
        EXPECT_EQ(absurd.state(), buffer_state::uninitialized);
        EXPECT_NO_THROW(absurd.view(huge - 10, 10));
        EXPECT_EQ(failure_of([&] { absurd.view(huge - 10, 11); }).code, out_of_range);
    }
    EXPECT_EQ(memory_in_all().held, held);
}

}  // namespace
}  // namespace unibuf::test::bad_input_test
