// tests/unit/refusal_test.cpp: calls that are refused leave all as it was: what is newest where, and what is found.
#include <latch>
#include <optional>
#include <thread>

#include "support/fake_device.hpp"
#include "tracking/watch.hpp"
#include "unit/common.hpp"

namespace unibuf::test::refusal_test {
namespace {

using namespace std::chrono_literals;

/// Holds a lease of a buffer on another thread.
class held_by_another {
public:
    explicit held_by_another(buffer& of)
        : thread_([this, &of] {
              const auto lease = of.write(host);
              held_.count_down();
              over_.wait();
          }) {
        held_.wait();
    }
    ~held_by_another() { over_.count_down(); }
    held_by_another(const held_by_another&) = delete;
    held_by_another& operator=(const held_by_another&) = delete;

private:
    std::latch held_{1};
    std::latch over_{1};
    std::jthread thread_;
};

/// A buffer with a host pointer out, whose bytes [38, 48) are newest at debug:0.
class a_refused_lease : public testing::TestWithParam<std::size_t> {
protected:
    a_refused_lease() {
        put(b, of(GetParam(), 7));
        pointer = b.host();
        put(b, of(10, 8), device, 38);
    }

    /// Asks for two leases: the first is granted, and given back as the second cannot be had.
    void refuse(const wanted_lease<std::byte>& asked) {
        buffer other(10);
        const held_by_another lease(other);
        const auto both = [&] { lease_together(asked, other.to_write(host, {.timeout = 0ns})); };
        EXPECT_EQ(failure_of(both).code, error_code::timeout);
    }

    const space device{"debug:0"};
    buffer b{GetParam()};
    std::byte* pointer = nullptr;
};

TEST_P(a_refused_lease, makes_no_conflict_of_what_is_stored_beside_newer_bytes) {
    refuse(b.to_read_write(device, {.offset = 0, .count = 231}));
    pointer[35] = pointer[36] = pointer[37] = std::byte{5};
    EXPECT_TRUE(same(content(b, host, {.offset = 34, .count = 5}),
                     bytes{std::byte{7}, std::byte{5}, std::byte{5}, std::byte{5}, std::byte{8}}));
}

TEST_P(a_refused_lease, lets_nobody_discard_what_is_newest) {
    refuse(b.to_write(device, {.offset = 0, .count = 231}));
    pointer[35] = std::byte{5};
    EXPECT_EQ(failure_of([&] { b.discard(device); }).code, error_code::access_conflict);
    EXPECT_EQ(content(b)[38], std::byte{8});
}

TEST_P(a_refused_lease, hides_no_conflict_where_the_memory_is_the_hosts) {
    if (GetParam() > 4096 && !tracking::about().finds_writes) GTEST_SKIP() << tracking::about().description;
    const space sharing = fake_device::get({.aliases = true}).where();
    b.read(sharing, {.offset = 100, .count = 1}).release();
    refuse(b.to_write(sharing, {.offset = 0, .count = 231}));
    pointer[40] = std::byte{5};
    EXPECT_EQ(failure_of([&] { content(b); }).code, error_code::access_conflict);
}

INSTANTIATE_TEST_SUITE_P(sizes, a_refused_lease, testing::Values(462, 16384));

class refused_leases : public testing::Test {
protected:
    refused_leases() { put(b, of(1000, 7)); }

    void expect_refused(const auto& call, error_code code = error_code::access_conflict) {
        EXPECT_EQ(failure_of(call).code, code);
        EXPECT_EQ(b.statistics().bytes_moved(), 0u);
        EXPECT_EQ(other.statistics().bytes_moved(), 0u);
    }

    const space device{"debug:0"};
    buffer b{1000};
    buffer other{1000};
};

TEST_F(refused_leases, move_nothing_where_they_exclude_each_other) {
    expect_refused([&] {
        lease_together(b.to_read(device, {.offset = 200, .count = 100}),
                       b.to_read_write(device, {.offset = 0, .count = 201}));
    });
    lease_together(b.to_read(device, {.offset = 200}), b.to_read_write(device, {.offset = 0, .count = 200}));
    lease_together(b.to_read(device), b.to_read(host));
}

TEST_F(refused_leases, name_both_where_they_exclude_each_other) {
    const auto failure = failure_of([&] { lease_together(b.to_read(device), b.to_write(host)); });
    EXPECT_NE(failure.message.find("a read lease of bytes [0, 1000) at debug:0"), std::string::npos) << failure.message;
    EXPECT_NE(failure.message.find("a write lease of bytes [0, 1000) at host"), std::string::npos) << failure.message;
}

TEST_F(refused_leases, move_nothing_where_the_thread_has_a_lease_already) {
    put(other, of(1000, 9));
    const auto held = other.read(host);
    expect_refused([&] { lease_together(b.to_read(device), other.to_write(device)); });
}

TEST_F(refused_leases, move_nothing_where_options_forbid_one) {
    buffer_options options;
    options.access = host_access::read_only;
    options.device = device;
    buffer computed(10, options);
    expect_refused([&] { lease_together(b.to_read(device), computed.to_write(host)); }, error_code::invalid_argument);
}

TEST_F(refused_leases, move_nothing_where_two_versions_are_newest) {
    std::byte* const pointer = other.host();
    put(other, of(1000, 9), device);
    pointer[3] = std::byte{1};
    expect_refused([&] { lease_together(b.to_read(device), other.to_read(host)); });
}

/// A driver that is handed a queue of another one may end the process.
TEST(a_named_queue, is_handed_to_no_second_device) {
    const space first = fake_device::get({}).where();
    const space second("debug:0");
    int any = 0;
    buffer b(128);
    {
        const auto written = b.write(first, {.count = 64});
        kernel_write(written.native(), 0, of(64, 1));
    }
    put(b, of(64, 2), second, 64);
    const failure refused = failure_of([&] { b.read(host, {.on = queue{&any}}); });
    EXPECT_EQ(refused.code, error_code::invalid_argument);
    EXPECT_NE(refused.message.find("bytes come from"), std::string::npos) << refused.message;
    bytes wanted = of(128, 1);
    std::fill_n(wanted.begin() + 64, 64, std::byte{2});
    EXPECT_EQ(content(b), wanted);
}

}  // namespace
}  // namespace unibuf::test::refusal_test
