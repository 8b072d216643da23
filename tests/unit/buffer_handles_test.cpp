// tests/unit/buffer_handles_test.cpp: what a buffer owes to a second thread, and to whoever assigns to a handle of it.
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "support/fake_device.hpp"
#include "unit/common.hpp"

namespace unibuf::test::buffer_handles_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t size = 1000;

TEST(a_buffer_and_two_threads, a_conflict_within_one_is_told_also_where_the_other_holds_a_lease) {
    buffer b(size);
    put(b, noise(size));
    const auto mine = b.read(host);  // a lease of all bytes is taken without the lock
    std::optional<lease<const std::byte>> of_the_other;
    std::thread([&] { of_the_other = b.read(host, {.count = 1}); }).join();
    const failure told = failure_of([&] { b.write(host, {.timeout = 1ms}); });
    EXPECT_EQ(told.code, error_code::access_conflict) << told.message;
}

// The other thread asks while the device works, so that nothing but the buffer's lock orders the two threads. The
// thread sanitizer tells where that is not enough.
TEST(a_buffer_and_two_threads, one_waits_for_a_device_while_the_other_asks_how_often) {
    fake_device& fake = fake_device::get({.asynchronous = true});
    buffer b(size);
    std::atomic<bool> works = false;
    std::atomic<bool> asked = false;
    const std::jthread other([&] {
        while (!works.load(std::memory_order_relaxed)) std::this_thread::yield();
        EXPECT_EQ(b.statistics().fence_waits, 1u);
        asked.store(true, std::memory_order_relaxed);
    });
    {
        const auto written = b.write(fake.where());
        fake.queued().add({.run = [&](std::size_t) {
            works.store(true, std::memory_order_relaxed);
            while (!asked.load(std::memory_order_relaxed)) std::this_thread::yield();
        }});
    }
    b.read(fake.where()).release();
}

TEST(a_copy, is_not_discarded_while_a_plain_handle_of_it_is_out) {
    const space device("debug:0");
    const default_device_is debug(device);
    buffer b(size);
    put(b, noise(size));
    b.device();
    EXPECT_EQ(failure_of([&] { b.discard(device); }).code, error_code::access_conflict);
    EXPECT_TRUE(has_copy(b, device));
    b.release_device();
    std::as_const(b).host();
    EXPECT_EQ(failure_of([&] { b.discard(host); }).code, error_code::access_conflict);
    b.release_host();
    b.discard(host);
    EXPECT_FALSE(has_copy(b, host));
}

TEST(a_handle, lets_go_of_its_buffer_when_another_is_assigned) {
    buffer kept(size);
    put(kept, noise(size));
    const std::uint64_t before = memory_in_all().held;
    buffer replaced(size);
    put(replaced, noise(size));
    buffer other = kept.view(0, 10);
    replaced = std::move(other);
    EXPECT_EQ(memory_in_all().held, before);
    EXPECT_EQ(replaced.id(), kept.id());
    EXPECT_EQ(replaced.size_bytes(), 10u);

    buffer& itself = replaced;
    replaced = std::move(itself);
    EXPECT_EQ(replaced.id(), kept.id());
}

// The bytes from its first element to its last are all of the buffer.
/// Lets `give_out` give a handle of a copy out, which queued work of a lease still reads: what the program writes
/// through the handle, which it may at once, is not for that work.
template <class GiveOut>
void is_given_out_behind_readers(const GiveOut& give_out) {
    fake_device& fake = fake_device::get({.asynchronous = true});
    const default_device_is it(fake.where());
    buffer b(size);
    put(b, noise(size));
    bytes seen;
    {
        const auto lease = b.read(fake.where());
        fake_memory& memory = memory_of(lease.native());
        const auto read_all = [&](std::size_t) {
            const auto content = memory.seen(0, size);
            seen.assign(content.begin(), content.end());
        };
        fake.queued().add({.run = read_all, .bytes = size, .of = &memory});
    }
    EXPECT_TRUE(seen.empty());
    give_out(b);
    EXPECT_TRUE(same(seen, noise(size)));
}

TEST(a_handle, is_given_out_when_queued_work_has_read_the_copy) {
    is_given_out_behind_readers([](buffer& b) { b.device(); });
}

TEST(a_copy_view, is_given_out_when_queued_work_has_read_the_copy) {
    is_given_out_behind_readers([](buffer& b) { b.copy_view(current_device()); });
}

TEST(a_rectangle_with_steps, is_not_the_buffer_itself) {
    memory_pool pool;
    buffer b = pool.acquire(5);
    buffer odd = b.view(5, 1, std::array{slice{.step = 2}});
    EXPECT_EQ(odd.size_bytes(), b.size_bytes());
    EXPECT_EQ(failure_of([&] { odd.share(); }).code, error_code::invalid_argument);
    const failure told = failure_of([&] { pool.release(std::move(odd)); });
    EXPECT_EQ(told.code, error_code::invalid_argument) << told.message;
    pool.release(std::move(b));
}

TEST(a_rectangle, is_of_an_array_that_is_one_row_of_others) {
    buffer b(24);
    put(b, noise(24));
    buffer row = b.view(7, 6);
    const buffer part = row.view({1, 1, 3}, 2, std::array{full_extent, full_extent, slice{.step = 2}});
    const auto held = part.read(host);
    EXPECT_EQ(held.native().offset, 7u);
    EXPECT_EQ(held.native().bytes, 6u);
    EXPECT_EQ(failure_of([&] { row.view({2, 3}, 1, std::array{full_extent, slice{0, 2}}); }).code,
              error_code::invalid_argument);
}

}  // namespace
}  // namespace unibuf::test::buffer_handles_test
