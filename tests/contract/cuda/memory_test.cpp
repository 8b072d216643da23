// tests/contract/cuda/memory_test.cpp: pageable and pinned memory, fills, pools, two devices.
#include <map>

#include "contract/cuda/fixture.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf::contract::memory_test {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Memory that is pinned as a program does it.
class pinned {
public:
    explicit pinned(std::size_t count) {
        void* made = nullptr;
        ok(driver::api().cuMemHostAlloc(&made, count, 0));
        all_ = {static_cast<std::byte*>(made), count};
    }
    ~pinned() { driver::api().cuMemFreeHost(all_.data()); }
    pinned(const pinned&) = delete;
    pinned& operator=(const pinned&) = delete;

    std::span<std::byte> all() const { return all_; }

private:
    std::span<std::byte> all_;
};

TEST_F(cuda_test, carries_pageable_memory_of_any_size) {
    for (const std::size_t count : {mebibyte - 1, mebibyte, mebibyte + 1, 4 * mebibyte - 1, 4 * mebibyte + 1,
                                    16 * mebibyte + 3, 64 * mebibyte + 5}) {
        const auto memory = device().allocate({.bytes = count + 3});
        bytes content = noise(count + 1);
        const std::span from = std::span(content).subspan(1);
        const fence written = memory->write(3, from, {});
        EXPECT_TRUE(written.wait());
        bytes got(count + 1);
        memory->read(3, std::span(got).subspan(1), {}).wait();
        EXPECT_TRUE(same(std::span(got).subspan(1), from)) << count;
    }
}

TEST_F(cuda_test, has_taken_pageable_memory_when_it_returns) {
    for (const std::size_t count : {std::size_t{1000}, std::size_t{100'000}, mebibyte, 9 * mebibyte}) {
        const auto memory = device().allocate({.bytes = count});
        bytes content = noise(count);
        memory->write(0, content, {});
        std::ranges::fill(content, std::byte{0});
        EXPECT_TRUE(same(get(*memory, 0, count), noise(count))) << count;
    }
}

TEST_F(on_the_double, copies_pinned_memory_without_the_ring) {
    const program by;
    const pinned host_side(9 * mebibyte);
    std::ranges::copy(noise(9 * mebibyte), host_side.all().begin());
    const auto memory = device().allocate({.bytes = 9 * mebibyte});
    control().reset();
    memory->write(0, host_side.all(), {}).wait();
    EXPECT_EQ(control().calls("cuMemcpyHtoDAsync"), 1u);
    std::ranges::fill(host_side.all(), std::byte{0});
    memory->read(0, host_side.all(), {}).wait();
    EXPECT_EQ(control().calls("cuMemcpyDtoHAsync"), 1u);
    EXPECT_TRUE(same(host_side.all(), noise(9 * mebibyte)));
}

TEST_F(on_the_double, pinned_memory_is_read_when_its_turn_comes) {
    const program by;
    program streams;
    const stream_handle stream = streams.stream();
    const pinned host_side(mebibyte);
    std::ranges::fill(host_side.all(), std::byte{1});
    const auto memory = device().allocate({.bytes = mebibyte});
    gate closed(streams, stream);
    const fence written = memory->write(0, host_side.all(), cuda::queue_of(stream));
    EXPECT_FALSE(written.done());
    std::ranges::fill(host_side.all(), std::byte{2});  // a program must not do this: the double shows it
    closed.open();
    written.wait();
    EXPECT_TRUE(same(get(*memory, 0, mebibyte), bytes(mebibyte, std::byte{2})));
}

TEST_F(cuda_test, fills_with_patterns_of_every_size_at_every_address) {
    const auto memory = device().allocate({.bytes = 4096});
    for (std::size_t pattern_size = 1; pattern_size <= 16; ++pattern_size) {
        for (std::size_t offset = 0; offset < 8; ++offset) {
            bytes wanted = noise(4096);
            put(*memory, 0, wanted);
            const bytes pattern = noise(pattern_size, static_cast<unsigned>(pattern_size));
            const std::size_t count = 100 * pattern_size;
            memory->fill(offset, count, pattern, {}).wait();
            std::ranges::copy(repeated(pattern, count), wanted.begin() + static_cast<std::ptrdiff_t>(offset));
            EXPECT_TRUE(same(get(*memory, 0, 4096), wanted)) << pattern_size << " at " << offset;
        }
    }
}

TEST_F(on_the_double, fills_with_what_the_driver_has) {
    const auto memory = device().allocate({.bytes = 4096});
    control().reset();
    memory->fill(0, 4096, noise(4), {}).wait();
    memory->fill(1, 4000, bytes(8, std::byte{7}), {}).wait();  // all bytes of the pattern are the same: one byte
    EXPECT_EQ(control().calls("cuMemsetD32Async"), 1u);
    EXPECT_EQ(control().calls("cuMemsetD8Async"), 1u);
    EXPECT_EQ(control().calls("cuMemcpyDtoDAsync"), 0u);
}

TEST_F(on_the_double, leaves_no_memory_behind) {
    backends::device& known = device();
    const auto use = [&] {
        buffer mirrored_one = mirrored(mebibyte);
        buffer shared_one = shared(mebibyte);
        for (buffer* each : {&mirrored_one, &shared_one}) {
            host_writes(*each, noise(mebibyte));
            each->read_write(where_).release();
            host_reads(*each);
        }
        known.allocate_visible({.bytes = 5000});
    };
    use();
    const std::size_t before = control().allocations();
    for (int i = 0; i < 3; ++i) use();
    EXPECT_EQ(control().allocations(), before);
}

TEST_F(on_the_double, asks_its_pool_to_let_go_before_it_gives_up) {
    if (control().calls(nullptr) == 0 && device().allocate({.bytes = mebibyte}) && control().calls("cuMemAlloc") > 0) {
        GTEST_SKIP() << "without pools there is none";
    }
    control().fail("cuMemAllocFromPoolAsync", 0, 1, driver::out_of_memory);
    const auto memory = device().allocate({.bytes = mebibyte});
    EXPECT_EQ(control().calls("cuMemPoolTrimTo"), 1u);
    put(*memory, 0, noise(mebibyte));
    EXPECT_TRUE(same(get(*memory, 0, mebibyte), noise(mebibyte)));
}

TEST_F(on_the_double, says_how_much_is_free_where_there_is_no_room) {
    buffer used = mirrored(3 * mebibyte);
    host_writes(used, noise(3 * mebibyte));
    const auto held = device().allocate({.bytes = mebibyte});
    control().limit_device_memory(4 * mebibyte - 1);
    std::string message;
    EXPECT_EQ(code_of([&] { used.read(where_); }, &message), error_code::out_of_memory);
    const memory_info info = memory_of(where_);
    EXPECT_EQ(info.total, 4 * mebibyte - 1);
    ASSERT_TRUE(info.free);
    EXPECT_LE(*info.free, 3 * mebibyte - 1);
    for (const std::uint64_t number : {std::uint64_t{3 * mebibyte}, *info.free, info.total}) {
        EXPECT_NE(message.find(std::to_string(number)), std::string::npos) << message;
    }
    EXPECT_TRUE(same(host_reads(used), noise(3 * mebibyte)));
    control().reset();
    used.read(where_).release();
    EXPECT_EQ(used.state(), buffer_state::synchronized);
}

TEST_F(on_the_double, mirrors_what_cannot_be_pinned) {
    control().limit_pinned_memory(4096);
    buffer used = shared(mebibyte);
    host_writes(used, noise(mebibyte));
    used.read(where_).release();
    if (used.placement(where_).placement == placement::shared) GTEST_SKIP() << "all memory is within reach";
    EXPECT_NE(used.placement(where_).reason.find("pinned"), std::string::npos) << used.placement(where_).reason;
    EXPECT_TRUE(same(host_reads(used), noise(mebibyte)));
}

TEST_F(cuda_test, tells_what_it_has) {
    const memory_info info = memory_of(where_);
    EXPECT_GT(info.total, 0u);
    ASSERT_TRUE(info.free);
    EXPECT_LE(*info.free, info.total);
    EXPECT_EQ(cuda::handles_of(where_).ordinal, 0);
    EXPECT_NE(cuda::handles_of(where_).context, nullptr);
    EXPECT_EQ(code_of([] { cuda::handles_of(host); }), error_code::invalid_argument);
    buffer used = mirrored(100);
    const auto lease = used.read(where_, {.offset = 10, .count = 50});
    EXPECT_EQ(reinterpret_cast<device_pointer>(cuda::pointer(lease)), lease.native().handle + 10);
}

TEST_F(on_the_double, tells_what_its_driver_says) {
    std::map<std::string, std::string> said;
    for (const device_property& each : device().about().properties) said[each.name] = each.value;
    EXPECT_EQ(said["compute capability"], "9.0");
    EXPECT_EQ(said["PCI address"], "0000:01:00.0");
    EXPECT_EQ(said["copy engines"], "2");
    EXPECT_EQ(said["ECC"], "no");
}

TEST_F(cuda_test, moves_from_device_to_device) {
    find_second();
    if (IsSkipped()) return;
    for (const std::size_t count : {std::size_t{1000}, 5 * mebibyte + 1}) {
        buffer used = mirrored(count);
        used.read(where_).release();
        used.read(second_).release();
        used.write(where_).release();
        used.fill(noise(1));
        used.read_write(second_).release();
        EXPECT_EQ(used.statistics().bytes_moved(), count);
        used.view(0, 100).fill(noise(1, 2));
        used.read(where_).release();
        bytes wanted(count, noise(1)[0]);
        std::fill_n(wanted.begin(), 100, noise(1, 2)[0]);
        EXPECT_TRUE(same(host_reads(used), wanted)) << count;
    }
}

TEST_F(cuda_test, two_devices_share_the_hosts_memory) {
    find_second();
    if (IsSkipped()) return;
    buffer used = shared(mebibyte);
    host_writes(used, noise(mebibyte));
    used.read(where_).release();
    used.read(second_).release();
    EXPECT_EQ(used.placement(where_).placement, placement::shared) << used.placement(where_).reason;
    EXPECT_EQ(used.placement(second_).placement, placement::shared) << used.placement(second_).reason;
    used.discard(where_);  // the other copy goes on
    used.mark_dirty(second_);
    used.fill(noise(1));
    EXPECT_TRUE(same(host_reads(used), bytes(mebibyte, noise(1)[0])));
    EXPECT_EQ(used.statistics().bytes_moved(), 0u);
}

/// No copy of the driver spans two registrations, or one and memory that is in none.
TEST_F(cuda_test, carries_memory_that_the_program_has_pinned_in_parts) {
    const program by;
    constexpr std::size_t half = mebibyte / 2;
    const auto block = backends::device_of(host).allocate({.bytes = mebibyte});
    const std::span all(block->host_address(), mebibyte);
    const auto memory = device().allocate({.bytes = mebibyte});
    std::vector<backends::part> rows;  // as far from each other, so that they are one rectangle; one spans both halves
    for (std::size_t at = half % 16384 + 16384 - 4096; at + 8192 <= mebibyte; at += 16384) rows.push_back({at, 8192});
    for (const auto& registered : {std::vector<std::size_t>{0, half}, {0}, {half}}) {
        for (const std::size_t at : registered) {
            ok(driver::api().cuMemHostRegister(all.data() + at, half, driver::host_register_device_map));
        }
        std::ranges::copy(noise(mebibyte), all.begin());
        memory->write(0, all, {}).wait();
        std::ranges::fill(all, std::byte{0});
        memory->read(0, all, {}).wait();
        EXPECT_TRUE(same(all, noise(mebibyte)));

        backends::fences done;
        done.reserve(2 * rows.size());
        std::ranges::copy(noise(mebibyte, 2), all.begin());
        memory->write_parts(rows, all.data(), {}, done);
        for (const fence& each : done) each.wait();
        std::ranges::fill(all, std::byte{0});
        memory->read_parts(rows, all.data(), {}, done);
        for (const fence& each : done) each.wait();
        const bytes wanted = noise(mebibyte, 2);
        for (const backends::part& each : rows) {
            EXPECT_TRUE(same(all.subspan(each.offset, each.bytes), std::span(wanted).subspan(each.offset, each.bytes)));
        }
        for (const std::size_t at : registered) ok(driver::api().cuMemHostUnregister(all.data() + at));
    }
}

TEST_F(cuda_test, leaves_memory_pinned_that_the_program_has_pinned) {
    const program by;
    const auto block = backends::device_of(host).allocate({.bytes = mebibyte});
    ok(driver::api().cuMemHostRegister(block->host_address(), mebibyte, driver::host_register_device_map));
    const std::span all(block->host_address(), mebibyte);
    device().alias(all, {.bytes = mebibyte}).reset();
    const auto again = device().alias(all, {.bytes = mebibyte});
    put(*again, 0, noise(mebibyte));
    EXPECT_TRUE(same(all, noise(mebibyte)));
    EXPECT_EQ(driver::api().cuMemHostUnregister(block->host_address()), driver::success);
}

}  // namespace
}  // namespace unibuf::contract::memory_test
