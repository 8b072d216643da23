// tests/unit/standing_pauses_test.cpp: bytes that go back and forth between standing holds and accesses elsewhere.
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <thread>

#include "support/fake_device.hpp"
#include "unit/standing_common.hpp"

namespace unibuf::test::standing_pauses_test {
namespace {

TEST(a_standing_hold, is_asked_again_to_pause_after_it_has_refused) {
    buffer b(size);
    b.copy_from(all_of(1));
    int asked = 0;
    const standing_hold hold = b.bind(gpu(), access::read_write, {.pause = [&] {
                                          if (++asked == 1) throw error(error_code::timeout, "the shader goes on");
                                      }});
    EXPECT_EQ(code_of([&] { host_reads(b); }), error_code::timeout);
    host_reads(b);
    EXPECT_EQ(asked, 2);
}

TEST(a_standing_hold, goes_on_only_when_nobody_has_any_of_its_bytes) {
    buffer b(size);
    b.copy_from(all_of(1));
    int asked = 0;
    int resumed = 0;
    const standing_hold hold =
        b.bind(gpu(), access::read_write, {.pause = [&] { ++asked; }, .resume = [&] { ++resumed; }});
    auto lease = b.read(host, {.offset = 0, .count = 100});
    host_reads(b, 200, 100);
    EXPECT_EQ(resumed, 0);
    lease.release();
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(resumed, 1);
}

TEST(a_standing_hold, may_end_while_it_is_told_to_go_on) {
    buffer b(size);
    b.copy_from(all_of(1));
    standing_hold hold;
    hold = b.bind(gpu(), access::read_write, {.pause = [] {}, .resume = [&] { hold.release(); }});
    host_reads(b, 0, 8);
    EXPECT_FALSE(hold);
    EXPECT_EQ(host_reads(b), all_of(1));
}

TEST(standing_holds, of_the_same_bytes_are_all_asked_to_pause) {
    buffer b(size);
    b.copy_from(all_of(1));
    int first = 0;
    int second = 0;
    const standing_hold one = b.bind(gpu(), access::read_write, {.pause = [&] { ++first; }});
    const standing_hold other = b.bind(gpu(), access::read_write, {.pause = [&] { ++second; }});
    host_reads(b, 0, 8);
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 1);
}

TEST(a_standing_hold, that_is_paused_stays_so_when_a_view_ends) {
    buffer b(size);
    b.copy_from(all_of(1));
    standing_hold hold = b.bind(gpu(), access::read_write);
    hold.pause();
    {
        const auto view = b.host_view(0, 100);
    }
    b.copy_from(all_of(5, 8));
    EXPECT_NE(device_holds(hold, 0, 8), all_of(5, 8));
    hold.resume();
    EXPECT_EQ(device_holds(hold, 0, 8), all_of(5, 8));
}

TEST(a_standing_hold, tells_its_owner_once_that_it_could_not_go_on) {
    buffer b(size);
    b.copy_from(all_of(1));
    int refused = 0;
    bool refuses = true;
    standing_hold hold = b.bind(gpu(), access::read_write,
                                {.pause = [] {},
                                 .resume =
                                     [&] {
                                         if (!refuses) return;
                                         ++refused;
                                         throw error(error_code::timeout, "the shader is stuck");
                                     }});
    hold.pause();
    EXPECT_EQ(code_of([&] { hold.resume(); }), error_code::timeout);
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(code_of([&] { hold.resume(); }), error_code::timeout);
    refuses = false;
    hold.resume();
    hold.pause();
    refuses = true;
    EXPECT_EQ(code_of([&] { hold.resume(); }), error_code::timeout);
    refuses = false;
    EXPECT_EQ(host_reads(b), all_of(1));
    hold.pause();
    hold.resume();
}

TEST(a_standing_hold, gets_back_what_was_leased_while_it_was_paused) {
    buffer b(size);
    b.copy_from(all_of(1));
    standing_hold hold = b.bind(gpu(), access::read_write);
    hold.pause();
    b.copy_from(all_of(2));
    {
        const auto lease = b.write(host);  // taken without the lock, as the host alone is current
        hold.resume();
        std::memset(lease.data(), 3, size);
    }
    EXPECT_EQ(device_holds(hold, 0, size), all_of(3));
}

TEST(a_standing_hold, to_read_has_what_a_pointer_wrote_once_that_is_released) {
    buffer b(size);
    b.copy_from(all_of(1));
    const standing_hold hold = b.bind(gpu(), access::read);
    std::memset(b.host() + 10, 2, 4);
    b.release_host();
    EXPECT_EQ(device_holds(hold, 10, 4), all_of(2, 4));
}

TEST(a_standing_hold, to_read_has_what_a_pointer_wrote_though_an_older_view_is_out) {
    buffer b(size);
    b.copy_from(all_of(1));
    const auto older = b.host_view(0, size);
    const standing_hold hold = b.bind(gpu(), access::read);
    std::memset(b.host() + 10, 2, 4);
    b.release_host();
    EXPECT_EQ(device_holds(hold, 10, 4), all_of(2, 4));
    {
        const auto younger = b.host_view(20, 8);
        std::memset(younger.data(), 3, 8);
    }
    EXPECT_EQ(device_holds(hold, 20, 8), all_of(3, 8));
}

TEST(a_standing_hold, to_read_has_what_a_pointer_wrote_when_it_is_resumed) {
    buffer b(size);
    b.copy_from(all_of(1));
    standing_hold hold = b.bind(gpu(), access::read);
    std::memset(b.host() + 10, 2, 4);
    hold.resume();
    EXPECT_EQ(device_holds(hold, 10, 4), all_of(2, 4));
}

TEST(a_standing_hold, to_read_is_asked_to_pause_before_its_bytes_change) {
    buffer b(size);
    b.copy_from(all_of(1));
    int asked = 0;
    int resumed = 0;
    const standing_hold hold = b.bind(gpu(), access::read, {.pause = [&] { ++asked; }, .resume = [&] { ++resumed; }});
    host_reads(b);
    EXPECT_EQ(asked, 0);
    b.copy_from(all_of(2, 8));
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(resumed, 1);
}

TEST(a_standing_hold, is_asked_to_pause_before_a_few_bytes_are_copied_in) {
    buffer b(size);
    b.copy_from(all_of(1));
    int asked = 0;
    const standing_hold hold = b.bind(gpu(), access::read_write, {.pause = [&] { ++asked; }});
    b.copy_from(all_of(2, 8));
    EXPECT_EQ(asked, 1);
}

TEST(a_standing_hold, has_its_work_waited_for_before_its_memory_goes) {
    fake_device& device = fake_device::get({.asynchronous = true}, 8);
    for (const access what : {access::read, access::read_write}) {
        buffer b(64);
        b.copy_from(all_of(1, 64));
        standing_hold hold = b.bind(device.where(), what);
        fake_memory& memory = memory_of(hold.native());
        device.queued().add(
            {.run = [&](std::size_t) { EXPECT_EQ(memory.seen(0, 1)[0], std::byte{1}); }, .of = &memory});
        hold.release();
        b = buffer(1);
        EXPECT_TRUE(device.misuse.empty());
        device.misuse.clear();
    }
}

TEST(a_standing_hold, waits_for_nothing_when_a_lease_of_its_own_device_ends) {
    fake_device& device = fake_device::get({.asynchronous = true}, 8);
    buffer b(64);
    b.copy_from(all_of(1, 64));
    const standing_hold hold = b.bind(device.where(), access::read_write);
    fake_memory& memory = memory_of(hold.native());
    host_reads(b, 0, 64);
    bool done = false;
    {
        const auto lease = b.write(device.where());
        device.queued().add({.run = [&](std::size_t) { done = true; }, .of = &memory});
    }
    EXPECT_FALSE(done);
    host_reads(b, 0, 64);
    EXPECT_TRUE(done);
}

TEST(standing_holds, of_two_devices_that_share_the_hosts_memory_take_no_turns_unseen) {
    const space one = fake_device::get({.aliases = true}, 8).where();
    const space other = fake_device::get({.aliases = true}, 9).where();
    buffer b(64);
    b.copy_from(all_of(1, 64));
    const standing_hold hold = b.bind(one, access::read_write);
    EXPECT_EQ(code_of([&] { b.bind(other, access::read_write); }), error_code::access_conflict);
}

TEST(a_standing_hold, of_a_batch_is_asked_to_pause_while_the_others_are_free) {
    buffer first(size);
    buffer second(size);
    second.copy_from(all_of(1));
    put(first, all_of(1), gpu());
    const auto pause = [&] { std::thread([&] { first.copy_from(all_of(3, 8)); }).join(); };
    const standing_hold hold = second.bind(gpu(), access::read_write, {.pause = pause});
    batch all(host);
    all.sync(first);
    all.sync(second);
    all.submit();
    EXPECT_EQ(host_reads(first, 0, 8), all_of(3, 8));
}

TEST(a_standing_hold, goes_on_when_the_batch_that_had_its_bytes_has_let_go_of_all_others) {
    fake_device& queued = fake_device::get({.asynchronous = true});
    buffer first(size);
    buffer second(size);
    for (buffer* const each : {&first, &second}) {
        each->copy_from(all_of(1));
        each->read(queued.where()).release();
    }
    std::atomic<int> resumed = 0;
    const auto use_the_other = [&] {
        second.write(host, {.offset = 8, .count = 8, .timeout = std::chrono::seconds(5)}).release();
        ++resumed;
    };
    standing_hold hold = first.bind(gpu(), access::read_write, {.pause = [] {}, .resume = use_the_other});
    std::atomic<bool> is_read = false;
    std::atomic<bool> goes = false;
    std::atomic<bool> is_gone = false;
    std::jthread reader([&] {
        byte_lease held = first.acquire(host, access::read, {});
        is_read = true;
        while (!goes) std::this_thread::yield();
        held.end();
        is_gone = true;
    });
    while (!is_read) std::this_thread::yield();
    second.copy_from(all_of(2));
    const auto let_the_reader_go = [&](std::size_t) {
        goes = true;
        // Where the end of the lease tells the device to go on, it waits for this batch.
        for (int i = 0; i != 100 && !is_gone; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    queued.queued().add({.run = let_the_reader_go, .bytes = 1});
    batch all(queued.where());
    all.sync(first);
    all.sync(second);
    all.submit();
    reader.join();
    EXPECT_GE(resumed, 1);
    hold.resume();  // throws what a call has failed with
    EXPECT_EQ(kernel_read(second.read(queued.where(), {.count = 8}).native()), all_of(2, 8));
}

TEST(a_standing_hold, has_the_bytes_behind_those_that_are_contested) {
    if (devices().front().description.find("not found") != std::string::npos) GTEST_SKIP() << "writes are not found";
    buffer b(size);
    b.copy_from(all_of(1));
    std::byte* const p = b.host();
    standing_hold hold = b.bind(gpu(), access::read_write);
    p[10] = std::byte{5};
    hold.resume();
    EXPECT_EQ(code_of([&] { host_reads(b); }), error_code::access_conflict);  // all of it is paused
    b.copy_from(all_of(7, 8), 4096);
    EXPECT_EQ(device_holds(hold, 4096, 8), all_of(7, 8));
}

TEST(a_standing_hold, keeps_pointers_out_where_content_is_not_to_be_discarded) {
    buffer b(size);
    b.copy_from(all_of(1));
    standing_hold hold = b.bind(gpu(), access::read_write);
    std::byte* const p = b.host();
    EXPECT_EQ(code_of([&] { b.discard_content(); }), error_code::access_conflict);
    p[0] = std::byte{2};
    b.release_host();
    EXPECT_EQ(device_holds(hold, 0, 1), all_of(2, 1));
}

TEST(a_standing_hold, is_quiet_before_the_first_of_several_leases_is_taken) {
    buffer first(size);
    buffer second(size);
    first.copy_from(all_of(1));
    second.copy_from(all_of(1));
    // The device of the second buffer becomes quiet when a thread has read the first buffer.
    const standing_hold hold =
        second.bind(gpu(), access::read_write, {.pause = [&] { std::jthread([&] { first.read(host); }).join(); }});
    device_writes(hold, 0, all_of(2, 8));
    const auto [one, two] = lease_together(first.to_write(host), second.to_read(host, {.count = 8}));
    EXPECT_EQ(bytes(two.begin(), two.end()), all_of(2, 8));
}

TEST(a_standing_hold, leaves_a_pointer_as_it_was_given_that_had_been_given_before) {
    buffer b(size);
    b.copy_from(all_of(1));
    const standing_hold hold = b.bind(gpu(), access::read_write);
    std::as_const(b).host();
    {
        const auto view = b.copy_view(host);
        b.view(0, 8).release_host();
        std::as_const(b).host();
    }
    device_writes(hold, 0, all_of(2));
    EXPECT_EQ(host_reads(b), all_of(1));
}

TEST(a_standing_hold, is_told_to_go_on_once_where_that_throws_what_is_no_error_of_unibuf) {
    buffer b(size);
    b.copy_from(all_of(1));
    int told = 0;
    standing_hold hold = b.bind(gpu(), access::read_write,
                                {.pause = [] {},
                                 .resume =
                                     [&] {
                                         ++told;
                                         throw std::runtime_error("stuck");
                                     }});
    hold.pause();
    EXPECT_THROW(hold.resume(), std::runtime_error);
    EXPECT_EQ(told, 1);
}

/// A view of some columns takes those from a hold, and not what lies between their rows.
TEST(a_standing_hold, keeps_the_columns_beside_those_of_a_view) {
    constexpr std::size_t rows = 8;
    constexpr std::size_t row = 30;
    const auto columns = [](buffer& of, std::size_t from, std::size_t to) {
        const slice along[] = {full_extent, {from, to, 1}};
        return of.view(shape(rows, row), 1, along);
    };
    for (const bool writes : {false, true}) {
        buffer b(rows * row);
        b.copy_from(of(rows * row, 1));
        buffer left = columns(b, 0, 10);
        buffer right = columns(b, 20, 30);
        const standing_hold hold = b.bind("debug:0", access::read_write);
        std::byte* const device = hold.native().as<std::byte>();
        std::optional<host_view<std::byte>> view;
        std::optional<copy_view> copy;
        writes ? void(view.emplace(left.host_view())) : void(copy.emplace(left.copy_view(host)));
        EXPECT_EQ(right.read(host)[5], std::byte{1});  // that is over: its bytes are open again
        for (std::size_t i = 0; i < rows; ++i) device[i * row + 25] = std::byte{7};
        EXPECT_EQ(right.read(host)[5], std::byte{7}) << writes;
        for (std::size_t i = 0; i < rows; ++i) device[i * row + 3] = std::byte{7};  // which the view has
        EXPECT_EQ(left.read(host)[3], std::byte{1}) << writes;
        view.reset();
        copy.reset();
        for (std::size_t i = 0; i < rows; ++i) device[i * row + 3] = std::byte{9};
        EXPECT_EQ(left.read(host)[3], std::byte{9}) << writes;
    }
}

/// A view of a rectangle that shares no byte with a hold is no reason to keep its device waiting.
TEST(a_standing_hold, goes_on_beside_a_view_of_other_rows) {
    buffer b(16 * 16);
    b.copy_from(of(16 * 16, 1));
    int paused = 0;
    int resumed = 0;
    const standing_hold hold =
        b.bind("debug:0", access::read_write,
               {.offset = 0, .count = 32, .pause = [&] { ++paused; }, .resume = [&] { ++resumed; }});
    const slice along[] = {{8, 12, 1}, {2, 6, 1}};
    buffer inside = b.view(shape(16, 16), 1, along);
    for (int i = 0; i < 2; ++i) {
        auto view = inside.host_view();
        b.read(host, {.offset = 0, .count = 16}).release();
        EXPECT_EQ(paused, i + 1);
        EXPECT_EQ(resumed, i + 1);
    }
}

}  // namespace
}  // namespace unibuf::test::standing_pauses_test
