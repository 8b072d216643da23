// tests/unit/io_view_test.cpp: memory of the host that is written by what no page table shows.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/sanitizers.hpp"
#include "tracking/watch.hpp"
#include "unit/common.hpp"

namespace unibuf::test::io_view_test {
namespace {

constexpr std::size_t size = 300000;

/// Buffers that are compared, watched, and of which nothing is looked for; and hints, so that devices share or do not.
class io_view : public testing::TestWithParam<std::tuple<std::size_t, write_tracking>> {
protected:
    std::size_t count() const { return std::get<0>(GetParam()); }
    buffer made() const {
        return buffer(count(), {.hint = memory_hint::gpu_preferred, .tracking = std::get<1>(GetParam())});
    }

    const space device_{"debug:0"};
};

TEST_P(io_view, counts_as_written_all_the_time) {
    buffer b = made();
    bytes expected = noise(count(), 1);
    put(b, expected);
    std::byte* const host_pointer = b.host();
    EXPECT_TRUE(same(content(b, device_), expected));
    EXPECT_TRUE(same(content(b, device_), expected));  // now all is watched
    const std::size_t first = 100, last = count() - 100;
    auto view = b.io_view(access::read_write, first, last - first);
    EXPECT_EQ(view.data(), host_pointer + first);
    for (unsigned char value = 1; value != 4; ++value) {
        const std::uint64_t before = b.statistics().bytes_moved();
        EXPECT_TRUE(same(content(b, device_), expected));
        EXPECT_GE(b.statistics().bytes_moved() - before, last - first) << "nobody can tell";
        std::fill(expected.begin() + 100, expected.end() - 100, std::byte{value});
        std::ranges::copy(part(expected, first, last - first), view.data());
        expected[0] = expected[count() - 1] = host_pointer[0] = host_pointer[count() - 1] = std::byte{value};
    }
    view.release();
    EXPECT_TRUE(same(content(b, device_), expected));
    host_pointer[first] = expected[first] = std::byte{77};
    EXPECT_TRUE(same(content(b, device_), expected));
    const std::uint64_t before = b.statistics().bytes_moved();
    EXPECT_TRUE(same(content(b, device_), expected));
    if (std::get<1>(GetParam()) == write_tracking::automatic && b.placement(host).writes_found) {
        EXPECT_EQ(b.statistics().bytes_moved(), before) << "all is watched again";
    }
}

TEST_P(io_view, of_old_content_that_is_not_wanted_fetches_nothing) {
    buffer b = made();
    put(b, noise(count(), 1));
    b.read_write(device_).release();
    const std::uint64_t before = b.statistics().bytes_moved();
    auto view = b.io_view();
    EXPECT_EQ(b.statistics().bytes_moved(), before);
    const bytes arrived = noise(count(), 2);
    std::ranges::copy(arrived, view.data());
    EXPECT_TRUE(same(content(b, device_), arrived));
    EXPECT_TRUE(same(content(b), arrived));
}

TEST_P(io_view, keeps_old_content_that_is_wanted) {
    buffer b = made();
    put(b, noise(count(), 1));
    std::ranges::copy(noise(count(), 3), b.write(device_).data());
    const auto view = b.io_view(access::read_write);
    EXPECT_TRUE(same(view.span(), noise(count(), 3)));
}

TEST_P(io_view, is_written_nowhere_else) {
    buffer b = made();
    put(b, noise(count(), 1));
    b.read(device_).release();
    buffer other(10);
    other.copy_from(of(10, 3));
    {
        const auto view = b.io_view(access::read_write, 200, 50);
        buffer part = b.view(240, 10);
        const std::vector<std::function<void()>> refused{
            [&] { part.write(device_); },
            [&] { b.read_write(device_); },
            [&] { part.mark_dirty(device_); },
            [&] { part.bind(device_, access::read_write); },
            [&] { part.copy_from(of(10, 1), device_); },
            [&] { part.fill(of(1, 1), device_); },
            [&] { static_cast<void>(lease_together(part.to_write(device_), other.to_read(device_))); },
        };
        for (const auto& each : refused) {
            const failure got = failure_of(each);
            EXPECT_EQ(got.code, error_code::access_conflict);
            EXPECT_NE(got.message.find("an io_view of some of these bytes is out"), std::string::npos) << got.message;
        }
        b.view(0, 200).write(device_).release();  // others are not concerned
        b.view(250, count() - 250).write(device_).release();
        part.fill(of(1, 9));  // at the host
        part.copy_from(other);
        EXPECT_EQ(view[40], std::byte{3});
        EXPECT_EQ(content(part, device_), of(10, 3));
        EXPECT_EQ(failure_of([&] { b.discard(host); }).code, error_code::access_conflict);
    }
    b.write(device_).release();
}

TEST_P(io_view, takes_copies_from_buffers_at_the_host) {
    buffer b = made();
    put(b, noise(count(), 1));
    b.read(device_).release();
    for (const bool at_device_alone : {true, false}) {
        buffer source(count(), {.hint = memory_hint::gpu_preferred});
        const bytes content_of_source = noise(count(), at_device_alone ? 5 : 6);
        std::ranges::copy(content_of_source, source.write(device_).data());
        if (!at_device_alone) source.sync_to_host();
        const auto view = b.io_view(access::read_write, 10, 20);
        b.copy_from(source);
        EXPECT_TRUE(same(content(b, device_), content_of_source));
    }
}

TEST_P(io_view, keeps_the_content) {
    buffer b = made();
    const auto view = b.io_view(access::read_write, 10, 20);
    EXPECT_EQ(failure_of([&] { b.discard_content(); }).code, error_code::access_conflict);
}

TEST_P(io_view, keeps_its_bytes_from_a_device_until_it_ends) {
    buffer b = made();
    put(b, noise(count(), 1));
    standing_hold hold = b.bind(device_, access::read_write);
    std::byte* const there = hold.native().as<std::byte>();
    auto view = b.io_view(access::read_write, 200, 10);
    hold.resume();
    there[100] = std::byte{11};
    view.data()[5] = std::byte{55};
    view.release();
    EXPECT_EQ(content(b.view(100, 1))[0], std::byte{11});
    EXPECT_EQ(content(b.view(205, 1))[0], std::byte{55});
    EXPECT_EQ(there[205], std::byte{55}) << "it is the device's again";
    there[206] = std::byte{66};
    EXPECT_EQ(content(b.view(206, 1))[0], std::byte{66});
}

TEST_P(io_view, waits_for_leases_and_says_what_is_wrong) {
    buffer b = made();
    EXPECT_EQ(failure_of([&] { b.io_view(access::read); }).code, error_code::invalid_argument);
    EXPECT_EQ(failure_of([&] { b.io_view(access::write, count(), 1); }).code, error_code::out_of_range);
    const auto lease = b.write(device_);
    EXPECT_EQ(failure_of([&] { b.io_view(); }).code, error_code::access_conflict);
}

TEST_P(io_view, may_overlap_others_and_leave_in_any_order) {
    buffer b = made();
    put(b, noise(count(), 1));
    b.read(device_).release();
    auto first = b.io_view(access::read_write, 0, 300);
    auto second = b.io_view(access::read_write, 200, 300);
    first.release();
    EXPECT_EQ(failure_of([&] { b.view(250, 1).write(device_); }).code, error_code::access_conflict);
    b.view(0, 200).write(device_).release();
    std::ranges::copy(of(300, 5), second.data());
    EXPECT_EQ(content(b.view(200, 300), device_), of(300, 5));
    second.release();
    b.write(device_).release();
}

std::string name_of(const testing::TestParamInfo<std::tuple<std::size_t, write_tracking>>& of) {
    return std::to_string(std::get<0>(of.param)) + (std::get<1>(of.param) == write_tracking::off ? "_off" : "");
}

INSTANTIATE_TEST_SUITE_P(of_bytes, io_view,
                         testing::Combine(testing::Values(1000, 4096, size),
                                          testing::Values(write_tracking::automatic, write_tracking::off)),
                         name_of);

/// A column of rows that lie apart, as MPI receives one.
TEST(io_views, of_a_rectangle_are_of_its_bytes_alone) {
    const space device("debug:0");
    unified_buffer<int> image({100, 50}, {.hint = memory_hint::gpu_preferred});
    image.fill(1);
    image.read(device).release();
    auto column = image.view(full_extent, slice{7, 8});
    const auto view = column.io_view(access::read_write);
    for (int row = 0; row != 100; ++row) view[50 * static_cast<std::size_t>(row)] = 2;
    image.view(full_extent, slice{8, 50}).write(device).release();
    const auto got = column.read(device);
    for (std::size_t row = 0; row != 100; ++row) EXPECT_EQ((got(row, 0)), 2);
}

/// Files that are read past the page cache, while somebody looks again and again.
TEST(io_views, take_files_that_are_read_directly) {
    if (has_thread_sanitizer) GTEST_SKIP() << "whoever looks meanwhile may see half of it";
    std::string name = "io_view_test.XXXXXX";
    const int made = ::mkstemp(name.data());
    ASSERT_GE(made, 0);
    const bytes file = noise(std::size_t{1} << 20, 4);
    ASSERT_EQ(::write(made, file.data(), file.size()), static_cast<ssize_t>(file.size()));
    ::fsync(made);
    ::close(made);
    const int direct = ::open(name.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
    ::unlink(name.c_str());
    if (direct < 0) GTEST_SKIP() << "files here cannot be read past the page cache";
    const space device("debug:0");
    buffer b(file.size(), {.hint = memory_hint::gpu_preferred});
    put(b, noise(file.size(), 5));
    b.host();
    for (int round = 0; round != 20; ++round) {
        put(b, noise(file.size(), 5));
        std::atomic<bool> done = false;
        std::thread reader([&] {
            const auto view = b.io_view();
            EXPECT_EQ(::pread(direct, view.data(), view.size(), 0), static_cast<ssize_t>(file.size()));
            done = true;
        });
        while (!done) b.read(device).release();
        reader.join();
        EXPECT_TRUE(same(content(b, device), file)) << round;
    }
    ::close(direct);
}

}  // namespace
}  // namespace unibuf::test::io_view_test
