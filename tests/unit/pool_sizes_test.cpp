// tests/unit/pool_sizes_test.cpp: buffers that a pool gives out with another size than they had.
#include <gtest/gtest.h>

#include <array>
#include <string>

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

}  // namespace
}  // namespace unibuf::test::pool_sizes_test
