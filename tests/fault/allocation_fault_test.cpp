// tests/fault/allocation_fault_test.cpp: memory that cannot be had.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/fake_device.hpp"
#include "support/faults.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/error.hpp"
#include "unibuf/statistics.hpp"
#include "unibuf/unified_buffer.hpp"

namespace unibuf::test::allocation_fault_test {
namespace {

constexpr std::size_t impossible = std::size_t{1} << 60;

template <class Call>
void expect_out_of_memory(const buffer& of, Call call) {
    try {
        call();
        ADD_FAILURE() << "no error was thrown";
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), error_code::out_of_memory);
        EXPECT_NE(std::string(refused.what()).find("buffer #" + std::to_string(of.id())), std::string::npos)
            << refused.what();
    }
}

class impossible_size : public testing::TestWithParam<std::size_t> {};

void expect_refused_and_harmless(std::size_t size) {
    buffer huge(size);
    EXPECT_EQ(huge.size_bytes(), size);
    const std::uint64_t held = memory_in_all().held;
    for (int again = 0; again < 2; ++again) {
        expect_out_of_memory(huge, [&] { huge.read(host); });
        expect_out_of_memory(huge, [&] { huge.write(host, {.offset = 5, .count = 1}); });
        expect_out_of_memory(huge, [&] { huge.host(); });
        expect_out_of_memory(huge, [&] { std::as_const(huge).host(); });
        expect_out_of_memory(huge, [&] { huge.prefetch(host); });
        expect_out_of_memory(huge, [&] { huge.copy_from(std::vector<std::byte>(10)); });
        expect_out_of_memory(huge, [&] { huge.read("debug:0"); });
    }
    EXPECT_EQ(huge.state(), buffer_state::uninitialized);
    EXPECT_EQ(memory_in_all().held, held);
    huge.discard_content();
    huge.discard(host);
}

TEST_P(impossible_size, is_refused_at_the_first_access_and_harms_nothing) { expect_refused_and_harmless(GetParam()); }

TEST_P(impossible_size, is_refused_beside_buffers_that_hold_memory) {
    const std::vector<std::byte> content(1000, std::byte{42});
    buffer at_host(content.size());
    buffer at_device(content.size());
    at_host.copy_from(content);
    at_device.fill(std::span(content).first(1), "debug:0");
    expect_refused_and_harmless(GetParam());
    for (const space where : {host, space("debug:0")}) {
        for (buffer* const each : {&at_host, &at_device}) {
            std::vector<std::byte> found(content.size());
            each->copy_to(found, where);
            EXPECT_EQ(found, content);
        }
    }
}

TEST_P(impossible_size, is_refused_where_memory_is_limited_and_takes_none_from_others) {
    buffer other(1000);
    other.fill(std::vector{std::byte{42}}, "debug:0");
    const memory_usage before = memory_in("debug:0");
    limit_memory("debug:0", before.held + 1000);
    buffer huge(GetParam());
    expect_out_of_memory(huge, [&] { huge.write("debug:0"); });
    limit_memory("debug:0", before.limit);
    EXPECT_EQ(memory_in("debug:0").held, before.held);
}

INSTANTIATE_TEST_SUITE_P(all, impossible_size,
                         testing::Values(impossible, impossible + 1, std::size_t{1} << 63,
                                         static_cast<std::size_t>(-256), static_cast<std::size_t>(-2),
                                         static_cast<std::size_t>(-1)),
                         [](const auto& each) { return "case_" + std::to_string(each.index); });

TEST(impossible_shape, is_refused_when_it_is_made) {
    EXPECT_THROW(unified_buffer<double>({impossible, std::size_t{64}}), error);
}

/// A device without room leaves what the host has, and the next attempt is a new one.
TEST(device_without_room, loses_nothing) {
    const space where = fake_device::get({}).where();
    std::vector<std::byte> content(1000, std::byte{42});
    buffer kept(content.size());
    kept.copy_from(content);
    const std::uint64_t held = memory_in_all().held;
    for (int i = 0; i < 3; ++i) {
        faults::all().arm(1, error_code::out_of_memory);
        expect_out_of_memory(kept, [&] { kept.write(where); });
        EXPECT_EQ(kept.state(), buffer_state::host_dirty);
        EXPECT_EQ(memory_in_all().held, held);
        EXPECT_TRUE(std::ranges::equal(kept.read(host), content));
    }
    kept.read(where).release();
    EXPECT_EQ(kept.state(), buffer_state::synchronized);
    EXPECT_EQ(kept.statistics().bytes_moved(), content.size());
}

/// Where memory cannot be shared the copy is mirrored, and says why.
TEST(sharing_that_fails, becomes_a_mirror) {
    for (const fake_traits does : {fake_traits{.aliases = true}, fake_traits{.visible = true}}) {
        const space where = fake_device::get(does).where();
        buffer_options options;
        options.device = where;
        buffer mirrored(100, options);
        faults::all().arm(1, error_code::out_of_memory);
        mirrored.copy_from(std::vector<std::byte>(100, std::byte{5}));
        mirrored.read(where).release();
        EXPECT_EQ(mirrored.placement(where).placement, placement::mirrored);
        EXPECT_NE(mirrored.placement(where).reason.find("but"), std::string::npos) << mirrored.placement(where).reason;
        EXPECT_EQ(seen_now(mirrored.read(where).native()), std::vector<std::byte>(100, std::byte{5}));
    }
}

}  // namespace
}  // namespace unibuf::test::allocation_fault_test
