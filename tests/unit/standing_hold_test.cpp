// tests/unit/standing_hold_test.cpp: a device that writes whenever it likes, and tells nobody.
//
// The device is debug:0, written through its raw handle: nothing else tells the library of these writes.
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "support/fake_device.hpp"
#include "unit/standing_common.hpp"

namespace unibuf::test::standing_hold_test {
namespace {

TEST(a_standing_hold, shows_each_reader_what_the_device_wrote_last) {
    buffer b(size);
    b.copy_from(all_of(1));
    const standing_hold hold = b.bind(gpu(), access::read_write);
    EXPECT_EQ(device_holds(hold, 0, size), all_of(1));
    for (const std::uint8_t value : std::initializer_list<std::uint8_t>{2, 3, 4}) {
        device_writes(hold, 100, all_of(value, 10));
        EXPECT_EQ(host_reads(b, 100, 10), all_of(value, 10));
    }
}

TEST(a_standing_hold, fetches_just_the_bytes_that_are_asked_for) {
    buffer b(size);
    b.copy_from(all_of(1));
    EXPECT_FALSE(b.is_bound());
    standing_hold hold = b.bind(gpu(), access::read_write);
    EXPECT_TRUE(b.is_bound());
    const std::uint64_t before = b.statistics().bytes_moved();
    host_reads(b, 40, 8);
    EXPECT_EQ(b.statistics().bytes_moved() - before, 8u);
    hold.release();
    EXPECT_FALSE(b.is_bound());
}

TEST(a_standing_hold, has_at_once_what_the_host_wrote) {
    buffer b(size);
    b.copy_from(all_of(1));
    const standing_hold hold = b.bind(gpu(), access::read_write);
    device_writes(hold, 0, all_of(2, 8));
    b.copy_from(all_of(9, 16), 4000);
    EXPECT_EQ(device_holds(hold, 4000, 16), all_of(9, 16));
    EXPECT_EQ(device_holds(hold, 0, 8), all_of(2, 8));
    {
        const auto lease = b.write(host, {.offset = 5000, .count = 4});
        std::memset(lease.data(), 7, 4);
    }
    EXPECT_EQ(device_holds(hold, 5000, 4), all_of(7, 4));
}

TEST(a_standing_hold, leaves_alone_what_is_leased_elsewhere) {
    buffer b(size);
    b.copy_from(all_of(1));
    const standing_hold hold = b.bind(gpu(), access::read_write);
    auto lease = b.read(host, {.offset = 0, .count = 100});
    host_reads(b, 50, 100);  // when it ends, bytes that the lease does not have are opened
    device_writes(hold, 120, all_of(5, 4));
    EXPECT_EQ(host_reads(b, 120, 4), all_of(5, 4));
    const std::uint64_t before = b.statistics().bytes_moved();
    host_reads(b, 0, 100);  // these bytes are still the host's
    EXPECT_EQ(b.statistics().bytes_moved(), before);
    lease.release();
    host_reads(b, 0, 100);
    EXPECT_EQ(b.statistics().bytes_moved() - before, 100u);
}

TEST(a_standing_hold, that_opens_when_it_is_told_fetches_once) {
    buffer b(size);
    b.copy_from(all_of(1));
    standing_hold hold = b.bind(gpu(), access::read_write, {.opens = reopening::told});
    device_writes(hold, 0, all_of(2, 8));
    EXPECT_EQ(host_reads(b, 0, 8), all_of(2, 8));
    const std::uint64_t before = b.statistics().bytes_moved();
    EXPECT_EQ(host_reads(b, 0, 8), all_of(2, 8));
    EXPECT_EQ(b.statistics().bytes_moved(), before);
    b.copy_from(all_of(6, 8));
    EXPECT_EQ(b.statistics().bytes_moved(), before);
    hold.resume();
    EXPECT_EQ(device_holds(hold, 0, 8), all_of(6, 8));
    device_writes(hold, 0, all_of(7, 8));
    EXPECT_EQ(host_reads(b, 0, 8), all_of(7, 8));
}

TEST(a_standing_hold, is_paused_by_a_pointer_until_it_is_resumed) {
    buffer b(size);
    b.copy_from(all_of(1));
    standing_hold hold = b.bind(gpu(), access::read_write);
    device_writes(hold, 0, all_of(2, 8));
    std::byte* const p = b.host();
    EXPECT_EQ(p[0], std::byte{2});
    std::memset(p + 10, 3, 4);
    hold.resume();
    EXPECT_EQ(device_holds(hold, 10, 4), all_of(3, 4));
    device_writes(hold, 20, all_of(4, 4));
    EXPECT_EQ(host_reads(b, 20, 4), all_of(4, 4));
}

TEST(a_standing_hold, leaves_a_pointer_to_read_as_it_was_given) {
    buffer b(size);
    b.copy_from(all_of(1));
    const standing_hold hold = b.bind(gpu(), access::read_write);
    device_writes(hold, 0, all_of(2, 8));
    const std::byte* const p = std::as_const(b).host();
    EXPECT_EQ(bytes(p, p + 8), all_of(2, 8));
    b.copy_from(all_of(3, 4), 8);
    EXPECT_EQ(bytes(p + 8, p + 12), all_of(3, 4));
    b.release_host();
    EXPECT_EQ(device_holds(hold, 8, 4), all_of(3, 4));
    device_writes(hold, 0, all_of(4, 8));
    EXPECT_EQ(host_reads(b, 0, 8), all_of(4, 8));
}

TEST(a_standing_hold, leaves_a_view_elsewhere_as_it_was_given) {
    const space third = fake_device::get({.addressable = true}, 7).where();
    buffer b(size);
    b.copy_from(all_of(1));
    const standing_hold hold = b.bind(gpu(), access::read_write);
    device_writes(hold, 0, all_of(2, 8));
    {
        const auto at_host = b.copy_view(host, 0, 8);
        const auto at_third = b.copy_view(third, 0, 8);
        EXPECT_EQ(bytes(at_host.data(), at_host.data() + 8), all_of(2, 8));
        b.mark_dirty(third, 0, 8);
        EXPECT_EQ(host_reads(b, 0, 8), all_of(2, 8));
    }
    device_writes(hold, 0, all_of(5, 8));
    EXPECT_EQ(host_reads(b, 0, 8), all_of(5, 8));
}

TEST(a_standing_hold, opens_again_when_the_last_view_has_ended) {
    buffer b(size);
    b.copy_from(all_of(1));
    const standing_hold hold = b.bind(gpu(), access::read_write);
    {
        const auto one = b.host_view(0, 100);
        const auto other = b.host_view(50, 100);
        std::memset(one.data() + 60, 8, 4);
    }
    EXPECT_EQ(device_holds(hold, 60, 4), all_of(8, 4));
}

TEST(a_standing_hold, tells_of_a_pointer_that_writes_what_the_device_has) {
    if (devices().front().description.find("not found") != std::string::npos) GTEST_SKIP() << "writes are not found";
    buffer b(size);
    b.copy_from(all_of(1));
    std::byte* const p = b.host();
    const standing_hold hold = b.bind(gpu(), access::read_write);
    p[4000] = std::byte{5};
    EXPECT_EQ(code_of([&] { host_reads(b); }), error_code::access_conflict);
    b.mark_dirty(gpu());
    EXPECT_EQ(host_reads(b), all_of(1));
}

TEST(a_standing_hold, pins_its_copy) {
    buffer b(size);
    b.copy_from(all_of(1));
    {
        const standing_hold hold = b.bind(gpu(), access::read_write);
        EXPECT_EQ(code_of([&] { b.discard(gpu()); }), error_code::access_conflict);
        EXPECT_EQ(code_of([&] { b.discard_content(); }), error_code::access_conflict);
    }
    b.sync_to_host();
    EXPECT_NO_THROW(b.discard(gpu()));
}

TEST(a_standing_hold, keeps_its_buffer_out_of_a_pool) {
    memory_pool pool;
    buffer b = pool.acquire(size);
    b.copy_from(all_of(1));
    const standing_hold hold = b.bind(gpu(), access::read_write);
    pool.release(std::move(b));
    buffer next = pool.acquire(size);
    next.copy_from(all_of(2));
    device_writes(hold, 0, all_of(3));
    EXPECT_EQ(host_reads(next), all_of(2));
}

TEST(a_standing_hold, has_the_bytes_of_pointers_that_a_release_to_a_pool_ends) {
    memory_pool pool;
    buffer b = pool.acquire(size);
    b.copy_from(all_of(1));
    const standing_hold hold = b.bind(gpu(), access::read_write);
    std::memset(b.host(), 2, size);
    pool.release(std::move(b));
    EXPECT_EQ(device_holds(hold, 0, size), all_of(2));
}

TEST(a_standing_hold, outlives_its_handle) {
    standing_hold hold;
    {
        buffer b(size);
        b.copy_from(all_of(1));
        hold = b.bind(gpu(), access::read_write);
    }
    EXPECT_EQ(device_holds(hold, 0, size), all_of(1));
}

TEST(a_standing_hold, is_refused_where_it_makes_no_sense) {
    buffer b(size);
    EXPECT_EQ(code_of([&] { b.bind(gpu(), access::write); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { b.bind(host, access::read_write); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { b.bind(gpu(), access::read, {.offset = size + 1}); }), error_code::out_of_range);
}

TEST(standing_holds, at_two_memories_share_no_byte_unless_they_only_read) {
    const space other = fake_device::get({.addressable = true}, 7).where();
    buffer b(size);
    b.copy_from(all_of(1));
    const standing_hold first = b.bind(gpu(), access::read_write, {.offset = 0, .count = 4096});
    EXPECT_EQ(code_of([&] { b.bind(other, access::read, {.offset = 4000, .count = 200}); }),
              error_code::access_conflict);
    EXPECT_NO_THROW(b.bind(other, access::read_write, {.offset = 4096}));
    EXPECT_NO_THROW(b.bind(gpu(), access::read_write));
    buffer c(size);
    c.copy_from(all_of(1));
    const standing_hold one = c.bind(gpu(), access::read);
    EXPECT_NO_THROW(c.bind(other, access::read));
}

TEST(a_standing_hold, to_read_makes_no_reader_fetch_and_has_what_the_host_writes) {
    buffer b(size);
    b.copy_from(all_of(1));
    const standing_hold hold = b.bind(gpu(), access::read);
    const std::uint64_t before = b.statistics().bytes_moved();
    host_reads(b);
    EXPECT_EQ(b.statistics().bytes_moved(), before);
    b.copy_from(all_of(2, 8), 16);
    EXPECT_EQ(device_holds(hold, 16, 8), all_of(2, 8));
    EXPECT_EQ(b.statistics().bytes_moved() - before, 8u);
}

TEST(a_standing_hold, asks_its_holder_to_pause_with_no_lock_held) {
    buffer b(size);
    b.copy_from(all_of(1));
    int pauses = 0;
    int resumes = 0;
    const auto use = [&](int& of) {
        ++of;
        b.state();  // would never return if the lock were held
    };
    const standing_hold hold =
        b.bind(gpu(), access::read_write, {.pause = [&] { use(pauses); }, .resume = [&] { use(resumes); }});
    EXPECT_EQ(pauses, 0);
    host_reads(b, 0, 8);
    EXPECT_EQ(pauses, 1);
    EXPECT_EQ(resumes, 1);
}

TEST(a_standing_hold, whose_holder_does_not_pause_fails_the_access_alone) {
    buffer b(size);
    b.copy_from(all_of(1));
    bool refuses = true;
    const standing_hold hold = b.bind(gpu(), access::read_write, {.pause = [&] {
                                          if (refuses) throw error(error_code::timeout, "the shader goes on");
                                      }});
    device_writes(hold, 0, all_of(2, 8));
    EXPECT_EQ(code_of([&] { host_reads(b); }), error_code::timeout);
    refuses = false;
    EXPECT_EQ(host_reads(b, 0, 8), all_of(2, 8));
}

TEST(a_standing_hold, may_end_while_its_holder_is_asked_to_pause) {
    buffer b(size);
    b.copy_from(all_of(1));
    standing_hold hold;
    const auto kept = std::make_shared<int>(3);
    hold = b.bind(gpu(), access::read_write, {.pause = [&hold, kept] {
                      device_writes(hold, 0, all_of(2, 8));
                      hold.release();
                      EXPECT_EQ(*kept, 3);
                      EXPECT_EQ(kept.use_count(), 2);  // the functions of a hold live until they return
                  }});
    EXPECT_EQ(host_reads(b, 0, 8), all_of(2, 8));
    EXPECT_EQ(kept.use_count(), 1);
}

TEST(a_standing_hold, lets_no_access_pass_while_its_holder_is_asked_to_pause_for_another) {
    buffer b(size);
    b.copy_from(all_of(1));
    const standing_hold hold =
        b.bind(gpu(), access::read_write, {.pause = [&] {
                   std::thread([&] {
                       EXPECT_EQ(code_of([&] { b.read(host, {.offset = 4096, .timeout = {}}); }), error_code::timeout);
                   }).join();
               }});
    host_reads(b, 0, 8);
}

TEST(a_standing_hold, lets_no_access_pass_while_its_holder_is_told_to_go_on_after_another) {
    buffer b(size);
    b.copy_from(all_of(1));
    int pauses = 0;
    const standing_hold hold =
        b.bind(gpu(), access::read_write,
               {.pause = [&] { ++pauses; },
                .resume =
                    [&] {
                        std::thread([&] {  // the device may be writing already
                            EXPECT_EQ(code_of([&] { b.read(host, {.timeout = {}}); }), error_code::timeout);
                        })
                            .join();
                    }});
    host_reads(b, 0, 8);
    EXPECT_EQ(pauses, 1);
    host_reads(b, 0, 8);
    EXPECT_EQ(pauses, 2);
}

TEST(a_standing_hold, destroys_what_its_holder_gave_with_no_lock_held) {
    buffer b(size);
    b.copy_from(all_of(1));
    std::shared_ptr<int> asks_on_end(new int(0), [&](const int* of) {
        b.state();  // would never return if the lock were held
        delete of;
    });
    standing_hold hold = b.bind(gpu(), access::read_write, {.pause = [asks_on_end] {}});
    asks_on_end.reset();
    hold.release();
}

/// A thread writes through the raw handle all the time, except while it is told to pause.
TEST(a_standing_hold, of_a_thread_that_writes_all_the_time_shows_whole_generations) {
    buffer b(size);
    b.copy_from(all_of(0));
    std::mutex turn;
    std::atomic<bool> ends = false;
    std::atomic<std::uint8_t> generation = 0;
    std::unique_lock paused(turn, std::defer_lock);
    const standing_hold hold =
        b.bind(gpu(), access::read_write, {.pause = [&] { paused.lock(); }, .resume = [&] { paused.unlock(); }});
    std::thread device([&] {
        for (std::uint8_t next = 1; !ends; ++next) {
            const std::scoped_lock mine(turn);
            std::memset(hold.native().as<std::byte>(), next, size / 2);
            generation = next;
        }
    });
    for (int i = 0; i < 200; ++i) {
        const bytes seen = host_reads(b, 0, size / 2);
        EXPECT_EQ(seen, all_of(static_cast<std::uint8_t>(seen[0]), size / 2));
        b.copy_from(all_of(static_cast<std::uint8_t>(i), 16), size / 2);
    }
    ends = true;
    device.join();
    EXPECT_EQ(host_reads(b, 0, 1)[0], std::byte{generation.load()});
    EXPECT_EQ(host_reads(b, size / 2, 16), all_of(199, 16));
}

}  // namespace
}  // namespace unibuf::test::standing_hold_test
