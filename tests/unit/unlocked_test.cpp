// tests/unit/unlocked_test.cpp: what others may do while an access has let go of the lock.
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "support/fake_device.hpp"
#include "unit/standing_common.hpp"

namespace unibuf::test::unlocked_test {
namespace {

using namespace std::chrono_literals;

/// Calls `act` on a thread of its own, and waits for it.
template <class Act>
void on_another_thread(Act act) {
    std::thread(act).join();
}

TEST(a_standing_hold, to_read_is_told_to_go_on_after_the_lease_that_writes) {
    buffer b(size);
    b.copy_from(all_of(1));
    int resumed = 0;
    const standing_hold hold = b.bind(gpu(), access::read, {.pause = [] {}, .resume = [&] { ++resumed; }});
    auto lease = b.write(host, {.offset = 0, .count = 8});
    EXPECT_EQ(resumed, 0);
    lease.release();
    EXPECT_EQ(resumed, 1);
}

TEST(a_shared_buffer, is_this_process_s_until_leases_that_begin_together_have_ended) {
    buffer b(64);
    b.copy_from(all_of(1, 64));
    b.share();
    {
        auto [lease] = lease_together(b.to_write(gpu()));
        std::ranges::fill(lease, std::byte{2});
    }
    EXPECT_EQ(host_reads(b, 0, 64), all_of(2, 64));
}

/// A copy that somebody begins to hold, while queued work on it is waited for, stays.
TEST(a_copy, stays_where_it_is_held_while_an_eviction_waits_for_work_on_it) {
    fake_device& device = fake_device::get({.asynchronous = true}, 8);
    buffer b(64);
    b.copy_from(all_of(1, 64));
    std::optional<copy_view> held;
    const auto queue_a_hold = [&] {
        const auto lease = b.read(device.where());
        device.queued().add(
            {.run = [&](std::size_t) { on_another_thread([&] { held = b.hold_copy(device.where()); }); }});
    };
    queue_a_hold();
    limit_memory(device.where(), 0);
    limit_memory(device.where(), no_memory_limit);
    EXPECT_TRUE(held && has_copy(b, device.where()));
    held.reset();
    queue_a_hold();
    EXPECT_EQ(code_of([&] { b.discard(device.where()); }), error_code::access_conflict);
    EXPECT_TRUE(held && has_copy(b, device.where()));
}

TEST(the_last_standing_hold_of_a_buffer, may_end_as_it_is_told_to_go_on) {
    standing_hold hold;
    auto b = std::make_unique<buffer>(size);
    b->copy_from(all_of(1));
    hold = b->bind(gpu(), access::read_write, {.pause = [] {}, .resume = [&] { hold.release(); }});
    auto lease = b->write(host, {.offset = 0, .count = 8});
    b.reset();
    const std::uint64_t before = memory_in_all().held;
    lease.release();
    EXPECT_FALSE(hold);
    EXPECT_EQ(memory_in_all().held, before - 2 * size);
}

TEST(the_last_standing_hold_of_a_buffer, may_end_as_it_is_asked_to_pause) {
    standing_hold hold;
    auto b = std::make_unique<buffer>(size);
    hold = b->bind(gpu(), access::read_write, {.pause = [&] { hold.release(); }});
    b.reset();
    hold.pause();
    EXPECT_FALSE(hold);
}

TEST(a_standing_hold, is_named_by_who_waited_for_it_whatever_has_come_and_gone_meanwhile) {
    buffer b(64 * size);
    std::string told;
    const auto read_first = [&] {
        told = failure_of([&] { b.read(host, {.offset = 16, .count = 16, .timeout = 50ms}); }).message;
    };
    const standing_hold hold =
        b.bind(gpu(), access::read_write,
               {.count = size, .pause = [&] {
                    std::thread other(read_first);
                    std::vector<standing_hold> more;
                    for (std::size_t i = 1; i < 32; ++i) {
                        more.push_back(b.bind(gpu(), access::read_write, {.offset = i * size, .count = size}));
                    }
                    other.join();
                }});
    host_reads(b, 0, 8);
    EXPECT_NE(told.find("a standing hold of bytes [0, 8192) at debug:0"), std::string::npos) << told;
}

TEST(a_standing_hold, that_ends_in_its_own_pause_takes_what_its_holder_gave_with_no_lock_held) {
    buffer b(size);
    b.copy_from(all_of(1));
    standing_hold hold;
    std::shared_ptr<int> asks_on_end(new int(0), [&](const int* of) {
        b.state();  // would never return if the lock were held
        delete of;
    });
    hold = b.bind(gpu(), access::read_write, {.pause = [&hold, asks_on_end] { hold.release(); }});
    asks_on_end.reset();
    EXPECT_EQ(host_reads(b), all_of(1));
}

TEST(a_standing_hold, whose_holder_uses_its_bytes_while_it_is_asked_for_them_is_told_so) {
    buffer b(size);
    b.copy_from(all_of(1));
    error_code code{};
    const standing_hold hold =
        b.bind(gpu(), access::read_write, {.pause = [&] { code = code_of([&] { host_reads(b, 0, 8); }); }});
    host_reads(b, 0, 8);
    EXPECT_EQ(code, error_code::access_conflict);
}

/// A holder that is asked for its view waits for a thread that writes another buffer of the same call.
class holder_who_waits {
public:
    explicit holder_who_waits(buffer& other) : other_(other) {}

    void take(buffer& of) {
        view_ = of.host_view();
        view_->held_by({+[](void* context) noexcept { static_cast<holder_who_waits*>(context)->let_go(); },
                        std::shared_ptr<void>(this, [](void*) {})});
    }
    bool was_asked() const { return asked_; }
    bool other_was_free() const { return free_; }

private:
    void let_go() noexcept {
        asked_ = true;
        on_another_thread([&] {
            try {
                other_.write(host, {.timeout = 0ns});
                free_ = true;
            } catch (const error&) {
            }
        });
        view_.reset();
    }

    buffer& other_;
    std::optional<host_view<std::byte>> view_;
    bool asked_ = false;
    bool free_ = false;
};

TEST(the_holder_of_a_view, is_asked_before_other_buffers_of_a_batch_are_kept) {
    buffer first(size);
    buffer second(size);
    for (buffer* each : {&first, &second}) {
        each->copy_from(all_of(1));
        each->read(gpu());
        each->copy_from(all_of(2));
    }
    holder_who_waits holder(first);
    holder.take(second);
    batch all(gpu());
    all.sync(first);
    all.sync(second);
    all.submit();
    EXPECT_TRUE(holder.was_asked());
    EXPECT_TRUE(holder.other_was_free());
}

TEST(the_holder_of_a_view, is_asked_before_the_first_of_several_leases_is_taken) {
    buffer first(size);
    buffer second(size);
    for (buffer* each : {&first, &second}) each->copy_from(all_of(1));
    holder_who_waits holder(first);
    holder.take(second);
    const auto leases = lease_together(first.to_read(gpu()), second.to_read(gpu()));
    EXPECT_TRUE(holder.was_asked());
    EXPECT_TRUE(holder.other_was_free());
}

TEST(a_pool, lends_a_smaller_buffer_where_work_is_queued_on_a_larger_one) {
    fake_device& device = fake_device::get({.asynchronous = true}, 8);
    memory_pool pool;
    {
        buffer large = pool.acquire(1000);
        large.write(device.where()).release();
        device.queued().add({.run = [](std::size_t) {}});
    }
    buffer small = pool.acquire(970);
    EXPECT_EQ(content(small), of(970, 0));
}

}  // namespace
}  // namespace unibuf::test::unlocked_test
