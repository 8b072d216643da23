// tests/contract/late_work_contract.cpp: work that is still queued when its lease has ended, or when the call that
// asked for it has returned, is no write of the program, whose pointers are out.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "contract/contract.hpp"
#include "unibuf/memory_pool.hpp"

namespace unibuf::contract::late_work_suite {
namespace {

constexpr std::array late{std::byte{7}};
constexpr std::byte newest{9};

/// Makes a buffer that was written through a pointer once, and never again.
buffer exposed(std::size_t size) {
    buffer made(size);
    std::ranges::fill(std::span(made.host(), size), std::byte{1});
    return made;
}

/// Lets a third space have newer content in the middle, as soon as that is to be had.
void overwrite_middle(buffer& of, held_queue& before, space late_space) {
    const std::size_t third = of.size_bytes() / 3;
    const auto write = [&](std::chrono::nanoseconds timeout) {
        std::ranges::fill(of.write(space("debug:0"), {.offset = third, .count = third, .timeout = timeout}), newest);
    };
    try {
        write(std::chrono::nanoseconds::zero());
    } catch (const error& refused) {
        ASSERT_EQ(refused.code(), error_code::timeout) << refused.what();
    }
    before.open();
    record_fence(late_space).wait();
    write(forever);
}

void expect_content(const buffer& of) {
    const std::size_t third = of.size_bytes() / 3;
    bytes wanted(of.size_bytes(), late[0]);
    std::fill_n(wanted.begin() + static_cast<std::ptrdiff_t>(third), third, newest);
    bytes got(of.size_bytes());
    of.copy_to(got);
    EXPECT_TRUE(same(got, wanted));
}

TEST_P(queued_work_contract, under_an_ended_lease_is_no_write_of_the_program) {
    for (const std::size_t size : {std::size_t{836}, std::size_t{16384}}) {
        buffer b = exposed(size);
        const auto queue = GetParam().hold_queue(where_);
        {
            const auto lease = b.write(where_, {.on = queue->name()});
            queue->set(lease.native(), late[0]);
        }
        overwrite_middle(b, *queue, where_);
        expect_content(b);
    }
}

TEST_P(queued_work_contract, of_a_fill_is_no_write_of_the_program) {
    for (const std::size_t size : {std::size_t{836}, std::size_t{16384}}) {
        buffer b = exposed(size);
        b.write(where_).release();
        record_fence(where_).wait();
        buffer other(64);
        const auto queue = GetParam().hold_queue(where_);
        other.write(where_, {.on = queue->name()}).release();  // the fill comes after the work on this queue
        if (!queue->lets_the_host_go_on()) queue->open();
        b.fill(late);
        overwrite_middle(b, *queue, where_);
        expect_content(b);
    }
}

TEST_P(queued_work_contract, is_no_write_of_the_program_where_another_device_is_marked) {
    buffer b = exposed(16384);
    const space marked("debug:0");
    b.read(marked).release();
    const auto queue = GetParam().hold_queue(where_);
    {
        const auto lease = b.write(where_, {.on = queue->name()});
        queue->set(lease.native(), late[0]);
    }
    std::ranges::fill(std::span(b.hold_copy(marked).data(), 16384), newest);
    try {
        b.mark_dirty(marked, {.timeout = std::chrono::nanoseconds::zero()});
    } catch (const error& refused) {
        ASSERT_EQ(refused.code(), error_code::timeout) << refused.what();
    }
    queue->open();
    record_fence(where_).wait();
    b.mark_dirty(marked);
    bytes got(16384);
    b.copy_to(got);
    EXPECT_TRUE(same(got, bytes(16384, newest)));
}

TEST_P(queued_work_contract, is_done_before_memory_that_it_uses_is_made_zero) {
    for (const memory_hint hint : {memory_hint::none, memory_hint::gpu_preferred, memory_hint::cpu_preferred}) {
        buffer b(16384, {.hint = hint, .device = where_});
        b.read_write(where_).release();
        const auto queue = GetParam().hold_queue(where_);
        {
            const auto lease = b.read_write(where_, {.on = queue->name()});
            queue->set(lease.native(), late[0]);
        }
        if (!queue->lets_the_host_go_on()) queue->open();
        const std::jthread opens_later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            queue->open();
        });
        b.discard_content();
        b.read(where_, {.on = queue->name()}).release();
        record_fence(where_).wait();
        bytes got(b.size_bytes(), newest);
        b.copy_to(got);
        EXPECT_TRUE(same(got, bytes(b.size_bytes()))) << static_cast<int>(hint);
    }
}

TEST_P(queued_work_contract, is_done_before_the_host_makes_bytes_zero_that_it_was_to_bring) {
    constexpr std::size_t half = 8192;
    for (const bool pinned : {false, true}) {
        buffer b(2 * half, {.hint = memory_hint::gpu_preferred, .device = where_, .pinned = pinned});
        b.fill(late, host);
        b.fill(late, where_);
        record_fence(where_).wait();
        const auto queue = GetParam().hold_queue(where_);
        if (!queue->lets_the_host_go_on()) queue->open();
        const std::jthread opens_later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            queue->open();
        });
        b.prefetch(host, {.count = half, .on = queue->name()});
        b.view(0, half).discard_content();
        b.prefetch(host, {.on = queue->name()});
        record_fence(where_).wait();
        bytes wanted(2 * half, late[0]);
        std::fill_n(wanted.begin(), half, std::byte{0});
        bytes got(2 * half);
        b.copy_to(got);
        EXPECT_TRUE(same(got, wanted)) << pinned;
    }
}

/// Puts work on a known queue, by a handle of the copy, that unibuf is told nothing of; opens the queue a little later.
class work_by_handle {
public:
    work_by_handle(buffer& on, const subject& of, space where)
        : handle_(on.copy_view(where).native()), queue_(of.hold_queue(where)) {
        named_.write(where, {.on = queue_->name()}).release();
        queue_->set(handle_, late[0]);
        if (!queue_->lets_the_host_go_on()) queue_->open();
        opens_later_ = std::jthread([this] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            queue_->open();
        });
    }

private:
    native_memory handle_;
    buffer named_{64};  // has a lease that names the queue
    std::unique_ptr<held_queue> queue_;
    std::jthread opens_later_;
};

TEST_P(queued_work_contract, by_a_handle_is_done_before_the_hosts_memory_goes) {
    for (const auto& [size, discards] :
         {std::pair(1024U, false), std::pair(16384U, false), std::pair(1024U, true), std::pair(16384U, true)}) {
        alignas(16384) std::array<std::byte, 16384> memory{};
        std::optional<work_by_handle> work;
        {
            buffer b = buffer::over(std::span(memory).first(size), nullptr);
            b.read(where_).release();
            work.emplace(b, GetParam(), where_);
            if (discards) b.discard(where_);
        }
        const bytes left(memory.data(), memory.data() + size);
        work.reset();
        record_fence(where_).wait();
        EXPECT_TRUE(same(bytes(memory.data(), memory.data() + size), left));
    }
}

TEST_P(queued_work_contract, by_a_handle_is_done_before_a_pool_gives_the_memory_to_others) {
    for (const memory_hint hint : {memory_hint::none, memory_hint::cpu_preferred}) {
        const buffer_options options{.hint = hint, .device = where_};
        memory_pool pool;
        buffer first = pool.acquire(16384, options);
        first.read(where_).release();
        const work_by_handle work(first, GetParam(), where_);
        pool.release(std::move(first));
        buffer next = pool.acquire(16384, options);
        std::ranges::fill(next.write(host), newest);
        record_fence(where_).wait();
        bytes got(16384);
        next.copy_to(got);
        EXPECT_TRUE(same(got, bytes(16384, newest))) << static_cast<int>(hint);
    }
}

}  // namespace
}  // namespace unibuf::contract::late_work_suite
