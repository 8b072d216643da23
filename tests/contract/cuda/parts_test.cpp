// tests/contract/cuda/parts_test.cpp: many ranges at once, and copies between devices.
#include "contract/cuda/fixture.hpp"
#include "unibuf/statistics.hpp"
#include "unibuf/transfer_cost.hpp"

namespace unibuf::contract::parts_test {
namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t size = 512 * kibibyte;

/// Returns the offsets of parts that are no rectangle.
std::vector<std::size_t> scattered(std::size_t count) {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(i * 8 * kibibyte + i % 3 * kibibyte);
    return result;
}

std::vector<std::size_t> in_rows(std::size_t count) {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(i * 8 * kibibyte);
    return result;
}

class parts_test : public on_the_double {
protected:
    void SetUp() override {
        on_the_double::SetUp();
        if (!IsSkipped()) set_transfer_cost(where_, {});
    }

    /// Makes a buffer that is the same on both sides.
    buffer in_step(bool pinned) const {
        buffer_options options;
        options.hint = memory_hint::gpu_preferred;
        options.pinned = pinned;
        buffer made(size, options);
        host_writes(made, noise(size));
        made.read(where_).release();
        return made;
    }

    /// Writes one KiB at each offset, as the host, and returns the content.
    static bytes host_changes(buffer& used, const std::vector<std::size_t>& offsets) {
        bytes wanted = noise(size);
        for (const std::size_t offset : offsets) {
            const auto lease = used.write(host, {.offset = offset, .count = kibibyte});
            std::ranges::copy(noise(kibibyte, static_cast<unsigned>(offset)), lease.begin());
            std::ranges::copy(lease, wanted.begin() + static_cast<std::ptrdiff_t>(offset));
        }
        return wanted;
    }

    bytes device_has(buffer& used) const {
        bytes result(size);
        device_pointer from = 0;
        {
            const auto lease = used.read(where_);
            from = address_of(lease);
        }
        std::copy_n(control().address(from), size, result.begin());
        return result;
    }

    /// Returns how many calls have carried bytes since the last reset.
    static std::uint64_t copies() {
        std::uint64_t sum = 0;
        for (const char* name : {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpy2DAsync", "cuMemcpyBatchAsync"}) {
            sum += control().calls(name);
        }
        return sum;
    }

    static bool has_batches() { return driver::api().cuMemcpyBatchAsync != nullptr; }
};

TEST_F(parts_test, scattered_parts_of_pinned_memory_are_one_batch) {
    buffer used = in_step(true);
    const auto offsets = scattered(50);
    const bytes wanted = host_changes(used, offsets);
    control().reset();
    used.read(where_).release();
    EXPECT_EQ(control().calls("cuMemcpyBatchAsync"), has_batches() ? 1u : 0u);
    EXPECT_EQ(copies(), has_batches() ? 1u : 50u);
    EXPECT_TRUE(same(device_has(used), wanted));
    EXPECT_EQ(used.state(), buffer_state::synchronized);
}

TEST_F(parts_test, parts_come_back_in_one_batch) {
    program by;
    buffer used = in_step(true);
    bytes wanted = noise(size);
    for (const std::size_t offset : scattered(50)) {
        const auto lease = used.write(where_, {.offset = offset, .count = kibibyte});
        by.set(nullptr, address_of(lease), 7, kibibyte);
        std::fill_n(wanted.begin() + static_cast<std::ptrdiff_t>(offset), kibibyte, std::byte{7});
    }
    control().reset();
    EXPECT_TRUE(same(host_reads(used), wanted));
    EXPECT_EQ(copies(), has_batches() ? 1u : 50u);
    EXPECT_EQ(used.statistics().bytes_moved(), size + 50 * kibibyte);
}

TEST_F(parts_test, rows_are_one_rectangle) {
    for (const bool pinned : {true, false}) {
        buffer used = in_step(pinned);
        const bytes wanted = host_changes(used, in_rows(50));
        control().reset();
        used.read(where_).release();
        EXPECT_EQ(control().calls("cuMemcpy2DAsync"), 1u);
        EXPECT_EQ(copies(), 1u);
        EXPECT_TRUE(same(device_has(used), wanted));
        used.mark_dirty(where_, 0, 4 * 8 * kibibyte);
        control().reset();
        EXPECT_TRUE(same(host_reads(used), wanted));
    }
}

TEST_F(parts_test, the_legacy_stream_takes_no_batches) {
    buffer used = in_step(true);
    const bytes wanted = host_changes(used, scattered(50));
    control().reset();
    used.read(where_, {.on = cuda::queue_of(nullptr)}).release();
    EXPECT_EQ(control().calls("cuMemcpyBatchAsync"), 0u);
    EXPECT_EQ(copies(), 50u);
    EXPECT_TRUE(same(device_has(used), wanted));
}

/// Where a device has other addresses for the host's registered memory, a batch, which is told none, would crash it.
TEST_F(parts_test, a_device_with_other_addresses_for_registered_memory_takes_no_batches_of_it) {
    buffer used = in_step(true);
    const bytes wanted = host_changes(used, scattered(50));
    control().reset();
    control().set_attribute(driver::can_use_registered_addresses, 0);
    used.read(where_).release();
    EXPECT_EQ(control().calls("cuMemcpyBatchAsync"), 0u);
    EXPECT_EQ(copies(), 50u);
    EXPECT_TRUE(same(device_has(used), wanted));
}

/// The ring makes few transfers of pageable memory, though its parts are small.
TEST_F(parts_test, the_ring_carries_many_parts_at_once) {
    constexpr std::size_t large = std::size_t{24} << 20;
    constexpr std::size_t part = 48 * kibibyte;
    buffer used = mirrored(large);
    host_writes(used, noise(large));
    used.read(where_).release();
    bytes wanted = noise(large);
    std::size_t count = 0;
    for (std::size_t offset = 0; offset + 2 * part < large; offset += 2 * part + count % 3 * kibibyte, ++count) {
        const auto lease = used.write(host, {.offset = offset, .count = part});
        std::ranges::fill(lease, std::byte{9});
        std::fill_n(wanted.begin() + static_cast<std::ptrdiff_t>(offset), part, std::byte{9});
    }
    control().reset();
    used.read(where_).release();
    if (has_batches()) {
        EXPECT_LT(copies(), 5u) << count;
    }
    used.mark_dirty(where_);
    EXPECT_TRUE(same(host_reads(used), wanted));
}

TEST_F(parts_test, a_batch_that_fails_loses_nothing) {
    constexpr driver::result unknown = 999;
    for (const char* function : {"cuMemcpyBatchAsync", "cuMemcpy2DAsync"}) {
        if (!has_batches()) GTEST_SKIP() << "the driver is too old for batches";
        buffer used = in_step(true);
        const bool rows = std::string_view(function) == "cuMemcpy2DAsync";
        const bytes wanted = host_changes(used, rows ? in_rows(50) : scattered(50));
        control().fail(function, 0, 1, unknown);
        EXPECT_EQ(code_of([&] { used.read(where_); }), error_code::transfer_failed) << function;
        EXPECT_TRUE(same(host_reads(used), wanted));
        EXPECT_TRUE(same(device_has(used), wanted));
    }
}

/// The bytes between near parts cost less than one more transfer.
TEST_F(parts_test, near_parts_are_one_transfer) {
    set_transfer_cost(where_, {.each = std::chrono::microseconds(1), .bytes_per_second = 7.0 * kibibyte * 1e6});
    buffer used = in_step(true);
    const std::vector<std::size_t> offsets = {0, 8 * kibibyte, 16 * kibibyte + 1, 24 * kibibyte + 1};
    const bytes wanted = host_changes(used, offsets);  // gaps of 7 KiB, a byte more, and 7 KiB
    const std::uint64_t before = used.statistics().bytes_moved();
    used.read(where_).release();
    EXPECT_EQ(used.statistics().bytes_moved() - before, 2 * 9 * kibibyte);
    EXPECT_TRUE(same(device_has(used), wanted));
    EXPECT_EQ(used.state(), buffer_state::synchronized);
}

TEST_F(parts_test, what_a_kernel_works_with_is_not_carried) {
    program by;
    const stream_handle stream = by.stream();
    set_transfer_cost(where_, {.each = std::chrono::microseconds(1), .bytes_per_second = 1e12});
    buffer used = in_step(true);
    const bytes wanted = host_changes(used, {0, 8 * kibibyte});
    gate closed(by, stream);
    {
        const access_options between{.offset = 4 * kibibyte, .count = kibibyte, .on = cuda::queue_of(stream)};
        const auto lease = used.read(where_, between);
    }
    const std::uint64_t before = used.statistics().bytes_moved();
    const stream_handle other = by.stream();
    used.read(where_, {.on = cuda::queue_of(other)}).release();
    EXPECT_EQ(used.statistics().bytes_moved() - before, 2 * kibibyte);
    closed.open();
    EXPECT_TRUE(same(device_has(used), wanted));
}

TEST_F(parts_test, newer_content_between_is_not_overwritten) {
    program by;
    set_transfer_cost(where_, {.each = std::chrono::microseconds(1), .bytes_per_second = 1e12});
    buffer used = in_step(true);
    bytes wanted = host_changes(used, {0, 8 * kibibyte});
    {
        const auto lease = used.write(where_, {.offset = 4 * kibibyte, .count = kibibyte});
        by.set(nullptr, address_of(lease), 5, kibibyte);
    }
    std::fill_n(wanted.begin() + 4 * kibibyte, kibibyte, std::byte{5});
    used.read(where_).release();
    EXPECT_TRUE(same(host_reads(used), wanted));
    EXPECT_TRUE(same(device_has(used), wanted));
}

TEST_F(cuda_test, measures_what_a_transfer_costs) {
    const transfer_cost cost = transfer_cost_of(where_);
    EXPECT_GE(cost.each.count(), 0);
    EXPECT_GT(cost.bytes_per_second, 0);
    EXPECT_EQ(code_of([&] { set_transfer_cost(where_, {.each = std::chrono::nanoseconds(-1)}); }),
              error_code::invalid_argument);
}

TEST_F(on_the_double, goes_from_device_to_device_without_a_detour) {
    find_second();
    if (IsSkipped()) return;
    constexpr const char* direct = "peer copies without a detour";
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    used.read(where_).release();
    used.read(second_).release();
    for (const space to : {second_, where_, second_}) {
        const space from = to == where_ ? second_ : where_;
        used.read_write(from).release();
        control().reset();
        used.read(to).release();
        EXPECT_EQ(control().calls(direct), 1u) << to.name();
        EXPECT_EQ(control().calls("cuMemcpyDtoHAsync"), 0u);
    }
    EXPECT_TRUE(same(host_reads(used), noise(size)));
}

/// Where no more peers can be reached, the driver copies by way of the host.
TEST_F(on_the_double, goes_from_device_to_device_where_no_more_peers_can_be_reached) {
    find_second();
    if (IsSkipped()) return;
    constexpr driver::result too_many_peers = 711;
    control().fail("cuCtxEnablePeerAccess", 0, 100, too_many_peers);
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    for (const space to : {where_, second_, where_}) used.read_write(to).release();
    EXPECT_TRUE(same(host_reads(used), noise(size)));
}

/// Work that nobody named is done before a peer takes what it writes.
TEST_F(cuda_test, a_peer_waits_for_work_that_nobody_named) {
    find_second();
    if (IsSkipped()) return;
    program by;
    const stream_handle stream = by.stream();
    buffer used = mirrored(size);
    used.read(where_).release();
    used.read(second_).release();
    set_default_device(where_);
    const device_pointer at = address_of(used.device());
    for (unsigned char value = 1; value < 20; ++value) {
        by.set(stream, at, value, size);
        used.mark_dirty(where_);
        used.read(second_).release();
        used.mark_dirty(second_);
        EXPECT_TRUE(same(host_reads(used), bytes(size, std::byte{value})));
    }
}

}  // namespace
}  // namespace unibuf::contract::parts_test
