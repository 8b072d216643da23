// tests/unit/pool_sizes_test.cpp: buffers that a pool gives out with another size than they had.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <string>

#include "common.hpp"
#include "pool/size_classes.hpp"
#include "support/bytes.hpp"
#include "support/fake_device.hpp"
#include "unibuf/unibuf.hpp"

namespace unibuf::test::pool_sizes_test {
namespace {

constexpr std::array sizes{std::size_t{52}, std::size_t{49}, std::size_t{64}};  // one class has them all

bytes content(const buffer& of) {
    const byte_lease held = of.acquire(host, access::read, {});
    return {held.address(), held.address() + held.native().bytes};
}

TEST(a_buffer_of_a_pool, has_every_byte_of_another_size) {
    const space device("debug:0");
    memory_pool pool;
    buffer first = pool.acquire(50);
    const std::uint64_t id = first.id();
    pool.release(std::move(first));
    for (const std::size_t size : sizes) {
        buffer next = pool.acquire(size);
        ASSERT_EQ(next.id(), id);
        next.write(device, {.offset = size - 1, .count = 1}).data()[0] = std::byte{7};
        EXPECT_EQ(content(next).size(), size);
        EXPECT_EQ(content(next).back(), std::byte{7}) << size;
        try {
            next.read(host, {.offset = size + 1});
            ADD_FAILURE() << "a read beyond the end was granted";
        } catch (const error& refused) {
            EXPECT_NE(refused.message().find(std::to_string(size) + " bytes"), std::string_view::npos);
        }
        pool.release(std::move(next));
    }
}

TEST(a_buffer_of_a_pool, may_get_smaller_while_work_is_queued_on_it) {
    const space device = fake_device::get({.asynchronous = true}).where();
    memory_pool pool;
    const buffer_options mirrored{.device = device};
    for (const std::size_t size : sizes) {
        buffer large = pool.acquire(64, mirrored);
        const std::uint64_t id = large.id();
        kernel_write(large.write(device).native(), 0, bytes(64, std::byte{1}));
        pool.release(std::move(large));
        buffer next = pool.acquire(size, mirrored);
        ASSERT_EQ(next.id(), id);
        kernel_write(next.write(device).native(), 0, bytes(size, std::byte{2}));
        EXPECT_EQ(content(next), bytes(size, std::byte{2}));
        pool.release(std::move(next));
    }
}

TEST(a_pool, reserves_all_copies_or_none) {
    const space device("debug:0");
    memory_pool pool;
    limit_memory(device, 250);
    EXPECT_EQ(failure_of([&] { pool.reserve(5, 100, device); }).code, error_code::out_of_memory);
    limit_memory(device, no_memory_limit);
    pool.reserve(5, 100, device);
    EXPECT_GE(memory_in(device).held, 500u);
}

TEST(an_array_of_a_pool, has_neither_bytes_nor_elements_after_its_release) {
    memory_pool pool;
    auto array = pool.acquire<int>({10});
    pool.release(std::move(array));
    EXPECT_EQ(array.size_bytes(), 0u);  // NOLINT(bugprone-use-after-move): what it is then is documented
    EXPECT_EQ(array.size(), 0u);
}

/// What takes the memory of a copy away: each is tried while the device writes bytes of it that are no longer the
/// buffer's.
class what_ends_a_copy : public testing::TestWithParam<void (*)(buffer&, space)> {};

TEST_P(what_ends_a_copy, waits_for_work_on_bytes_that_a_smaller_buffer_does_not_have) {
    fake_device& device = fake_device::get({.asynchronous = true});
    device.misuse.clear();
    memory_pool pool;
    const buffer_options mirrored{.device = device.where()};
    buffer large = pool.acquire(64, mirrored);
    const std::uint64_t id = large.id();
    {
        const auto tail = large.write(device.where(), {.offset = 60});
        kernel_write(tail.native(), 0, bytes(4, std::byte{1}));
    }
    pool.release(std::move(large));
    buffer small = pool.acquire(49, mirrored);
    ASSERT_EQ(small.id(), id);
    std::ranges::fill(small.write(host), std::byte{2});
    GetParam()(small, device.where());
    EXPECT_EQ(device.misuse, std::vector<std::string>{});
    EXPECT_EQ(content(small), bytes(49, std::byte{2}));
}

void discard_copy(buffer& of, space where) {
    of.discard(where);
    EXPECT_FALSE(has_copy(of, where));
}

void evict_copy(buffer& of, space where) {
    limit_memory(where, 64);
    buffer(64).write(where);
    limit_memory(where, no_memory_limit);
    EXPECT_EQ(of.statistics().evictions, 1u);
}

void share_buffer(buffer& of, space where) {
    of.share();
    EXPECT_FALSE(has_copy(of, where));
}

INSTANTIATE_TEST_SUITE_P(by, what_ends_a_copy, testing::Values(discard_copy, evict_copy, share_buffer));

RC_GTEST_PROP(size_classes, waste_less_than_an_eighth_and_a_line, ()) {
    const auto bytes = *rc::gen::inRange<std::size_t>(1, std::size_t{1} << 40);
    const std::size_t found = detail::class_of(bytes);
    RC_ASSERT(found >= bytes);
    RC_ASSERT(found % 64 == 0u);
    RC_ASSERT(detail::class_of(found) == found);
    RC_ASSERT((bytes < 512 ? found - bytes < 64 : (found - bytes) * 8 < bytes));
}

TEST(size_classes, of_what_nothing_has_room_for_is_that) {
    EXPECT_EQ(detail::class_of(~std::size_t{0}), ~std::size_t{0});
    EXPECT_EQ(detail::class_of(0), 64u);
}

}  // namespace
}  // namespace unibuf::test::pool_sizes_test
