// tests/contract/cuda/order_test.cpp: work on the program's streams is in order, and the host does not stop for it.
//
// The double ends the program where two streams touch memory without order, so these tests need not hit the moment.
#include <future>
#include <initializer_list>
#include <optional>
#include <thread>

#include "contract/cuda/fixture.hpp"

namespace unibuf::contract::order_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t size = 300'000;  // the driver takes less at once of pageable memory

TEST_F(cuda_test, a_lease_on_a_stream_does_not_stop_the_host) {
    for (const std::size_t count : {std::size_t{1000}, size, std::size_t{3} << 20}) {
        program by;
        const stream_handle stream = by.stream();
        buffer used = mirrored(count);
        host_writes(used, noise(count));
        bytes wanted = noise(count);
        gate closed(by, stream);
        {
            const auto lease = used.read_write(where_, {.on = cuda::queue_of(stream)});
            by.set(stream, address_of(lease) + 100, 7, 100);
            std::fill_n(wanted.begin() + 100, 100, std::byte{7});
        }
        EXPECT_FALSE(device().record(cuda::queue_of(stream)).wait(1ms));
        EXPECT_EQ(used.statistics().fence_waits, 0u);
        closed.open();
        EXPECT_TRUE(same(host_reads(used), wanted)) << count;
    }
}

/// A driver may give the handle of a stream that was destroyed to another one, while the work of the first is under
/// way.
TEST_F(on_the_double, a_stream_is_not_taken_for_one_that_had_its_handle) {
    program by;
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    used.read(where_).release();
    const stream_handle gone = by.stream();
    gate closed(by, gone);
    buffer seen = mirrored(2 * size);
    const auto reads_on = [&](stream_handle stream, std::size_t into) {
        const auto from = used.read(where_, {.on = cuda::queue_of(stream)});
        const auto to = seen.write(where_, {.offset = into, .count = size, .on = cuda::queue_of(stream)});
        by.copy(stream, address_of(to), address_of(from), size);
    };
    reads_on(gone, 0);
    by.destroy(gone);
    control().give_again(gone);
    const stream_handle again = by.stream();
    ASSERT_EQ(again, gone);
    reads_on(again, size);
    host_writes(used, noise(size, 2));
    used.prefetch(where_, {.on = cuda::queue_of(by.stream())});  // writes what both have read
    closed.open();
    EXPECT_TRUE(same(host_reads(used), noise(size, 2)));
}

TEST_F(cuda_test, streams_named_in_leases_follow_each_other) {
    program by;
    const std::vector<stream_handle> streams = {by.stream(), by.stream(0), nullptr, driver::per_thread_stream,
                                                by.stream()};
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    gate closed(by, streams[0]);
    for (unsigned round = 0; round < 4; ++round) {
        for (std::size_t i = 0; i < streams.size(); ++i) {
            const auto lease = used.read_write(where_, {.on = cuda::queue_of(streams[i])});
            const device_pointer begin = address_of(lease);
            by.set(streams[i], begin + i, static_cast<unsigned char>(10 * round + i), 1);
            by.copy(streams[i], begin + 1000, begin, 1000);
        }
    }
    EXPECT_EQ(used.statistics().fence_waits, 0u);
    closed.open();
    bytes wanted = noise(size);
    for (unsigned i = 0; i < 5; ++i) wanted[i] = static_cast<std::byte>(30 + i);
    std::copy_n(wanted.begin(), 1000, wanted.begin() + 1000);
    EXPECT_TRUE(same(host_reads(used), wanted));
}

TEST_F(cuda_test, readers_on_several_streams_are_all_waited_for) {
    program by;
    const stream_handle readers[] = {by.stream(), by.stream(), by.stream()};
    const stream_handle writer = by.stream();
    buffer used = mirrored(size);
    buffer copies = mirrored(3 * size);
    host_writes(used, noise(size));
    used.read(where_).release();
    gate closed(by, readers[1]);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto from = used.read(where_, {.on = cuda::queue_of(readers[i])});
        const auto to = copies.write(where_, {.offset = i * size, .count = size, .on = cuda::queue_of(readers[i])});
        by.copy(readers[i], address_of(to), address_of(from), size);
    }
    {
        const auto lease = used.write(where_, {.on = cuda::queue_of(writer)});
        by.set(writer, address_of(lease), 0, size);
    }
    EXPECT_EQ(used.statistics().fence_waits, 0u);
    closed.open();
    for (std::size_t i = 0; i < 3; ++i) {
        const auto got = copies.read(host, {.offset = i * size, .count = size});
        EXPECT_TRUE(same({got.begin(), got.size()}, noise(size)));
    }
    EXPECT_TRUE(same(host_reads(used), bytes(size)));
}

/// Two threads that name "the per-thread stream" mean two streams.
TEST_F(cuda_test, per_thread_streams_of_two_threads_are_two_streams) {
    buffer used = mirrored(size);
    buffer copies = mirrored(2 * size);
    host_writes(used, noise(size));
    used.read(where_).release();
    copies.read(where_).release();
    const auto reads = [&](std::size_t index, std::promise<void>& taken, std::shared_future<void> end) {
        const program by;
        const queue on = cuda::queue_of(driver::per_thread_stream);
        gate closed(by, driver::per_thread_stream);
        {
            const auto from = used.read(where_, {.on = on});
            const auto to = copies.write(where_, {.offset = index * size, .count = size, .on = on});
            by.copy(driver::per_thread_stream, address_of(to), address_of(from), size);
        }
        taken.set_value();
        end.wait();
    };
    std::promise<void> taken[2];
    std::promise<void> end;
    const std::shared_future<void> ended = end.get_future().share();
    std::jthread first([&] { reads(0, taken[0], ended); });
    taken[0].get_future().wait();
    std::jthread second([&] { reads(1, taken[1], ended); });
    taken[1].get_future().wait();
    program by;
    const stream_handle writer = by.stream();
    {
        const auto lease = used.write(where_, {.on = cuda::queue_of(writer)});
        by.set(writer, address_of(lease), 0, size);
    }
    end.set_value();
    first.join();
    second.join();
    EXPECT_TRUE(same(host_reads(copies), [] {
        bytes twice = noise(size);
        const bytes again = noise(size);
        twice.insert(twice.end(), again.begin(), again.end());
        return twice;
    }()));
}

TEST_F(cuda_test, accesses_without_a_stream_come_after_all_streams) {
    for (const unsigned flags : {driver::stream_non_blocking, 0u}) {
        program by;
        const stream_handle stream = by.stream(flags);
        buffer used = mirrored(size);
        const device_pointer address = address_of(used.read(where_));
        gate closed(by, stream);
        by.set(stream, address, 3, size);
        std::jthread later([&] {
            std::this_thread::sleep_for(5ms);
            closed.open();
        });
        used.mark_dirty(where_);
        EXPECT_TRUE(same(host_reads(used), bytes(size, std::byte{3})));
    }
}

TEST_F(cuda_test, a_write_without_a_stream_comes_after_readers_that_nobody_named) {
    program by;
    const stream_handle stream = by.stream();
    const auto from = device().allocate({.bytes = size});
    const auto to = device().allocate({.bytes = size});
    put(*from, 0, noise(size));
    gate closed(by, stream);
    by.copy(stream, to->handle(), from->handle(), size);
    const bytes next(size);
    if (stops_the_host_for_all()) closed.open();
    from->fill(0, size, std::span(next).first(1), {});
    closed.open();
    EXPECT_TRUE(same(get(*to, 0, size), noise(size)));
    EXPECT_TRUE(same(get(*from, 0, size), next));
}

TEST_F(cuda_test, memory_goes_after_the_work_that_uses_it_and_stops_nobody) {
    program by;
    const stream_handle stream = by.stream();
    auto gone = device().allocate({.bytes = size});
    const auto kept = device().allocate({.bytes = size});
    put(*gone, 0, noise(size));
    gone->hand_out();
    gate closed(by, stream);
    by.copy(stream, kept->handle(), gone->handle(), size);
    int pools = 0;
    ok(driver::api().cuDeviceGetAttribute(&pools, driver::memory_pools_supported, 0));
    if (!pools || stops_the_host_for_all()) closed.open();  // without a pool the driver waits
    gone.reset();
    closed.open();
    EXPECT_TRUE(same(get(*kept, 0, size), noise(size)));
}

TEST_F(cuda_test, fences_outlive_the_stream_that_they_are_on) {
    fence done;
    buffer used = mirrored(size);
    {
        program by;
        const stream_handle stream = by.stream();
        gate closed(by, stream);
        {
            const auto lease = used.write(where_, {.on = cuda::queue_of(stream)});
            by.set(stream, address_of(lease), 9, size);
        }
        done = device().record(cuda::queue_of(stream));
        EXPECT_FALSE(done.done());
    }
    EXPECT_TRUE(done.wait(60s));
    EXPECT_TRUE(same(host_reads(used), bytes(size, std::byte{9})));
}

TEST_F(cuda_test, a_prefetch_on_a_stream_returns_at_once) {
    program by;
    const stream_handle stream = by.stream();
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    gate closed(by, stream);
    used.prefetch(where_, {.on = cuda::queue_of(stream)});
    EXPECT_EQ(used.statistics().bytes_moved(), size);
    const auto copy = device().allocate({.bytes = size});
    {
        const auto lease = used.read(where_, {.on = cuda::queue_of(stream)});
        by.copy(stream, copy->handle(), address_of(lease), size);
    }
    EXPECT_EQ(used.statistics().fence_waits, 0u);
    closed.open();
    EXPECT_TRUE(same(get(*copy, 0, size), noise(size)));
}

TEST_F(cuda_test, shared_memory_is_ordered_too) {
    program by;
    const stream_handle first = by.stream();
    const stream_handle second = by.stream();
    buffer used = shared(size);
    host_writes(used, noise(size));
    used.read(where_).release();  // pins the memory, which may wait for all work
    gate closed(by, first);
    {
        const auto lease = used.read_write(where_, {.on = cuda::queue_of(first)});
        by.set(first, address_of(lease), 1, 100);
    }
    {
        const auto lease = used.read_write(where_, {.on = cuda::queue_of(second)});
        by.set(second, address_of(lease) + 50, 2, 100);
    }
    closed.open();
    bytes wanted = noise(size);
    std::fill_n(wanted.begin(), 100, std::byte{1});
    std::fill_n(wanted.begin() + 50, 100, std::byte{2});
    EXPECT_TRUE(same(host_reads(used), wanted));
}

/// A program that has named its streams.
class named_streams : public cuda_test {
protected:
    void SetUp() override {
        cuda_test::SetUp();
        if (IsSkipped()) return;
        by_.emplace();
        mine_ = by_->stream();
        other_ = by_->stream();
    }
    void TearDown() override {
        if (by_) cuda::use_streams(where_, {});
    }

    void name(std::initializer_list<stream_handle> all) const { cuda::use_streams(where_, {all.begin(), all.size()}); }

    std::optional<program> by_;
    stream_handle mine_ = nullptr;
    stream_handle other_ = nullptr;
};

TEST_F(named_streams, are_what_accesses_that_name_none_wait_for) {
    name({mine_, nullptr});
    buffer used = mirrored(size);
    used.read(where_).release();
    set_default_device(where_);
    const device_pointer at = address_of(used.device());
    for (const stream_handle stream : {mine_, stream_handle(nullptr)}) {
        for (unsigned char value = 1; value < 20; ++value) {
            by_->set(stream, at, value, size);
            used.mark_dirty(where_);
            EXPECT_TRUE(same(host_reads(used), bytes(size, std::byte{value})));
        }
    }
}

/// Work on a stream that is named no more goes on.
TEST_F(named_streams, are_waited_for_when_others_are_named) {
    buffer used = mirrored(size);
    used.read(where_).release();
    set_default_device(where_);
    const device_pointer at = address_of(used.device());
    for (unsigned char value = 1; value < 20; ++value) {
        if (value % 2 == 0) name({other_});
        by_->set(other_, at, value, size);
        name({mine_});
        used.mark_dirty(where_);
        EXPECT_TRUE(same(host_reads(used), bytes(size, std::byte{value})));
        name({});
    }
}

TEST_F(named_streams, leave_the_others_alone) {
    name({mine_});
    buffer used = mirrored(size);
    capture under_way(other_);
    const stream_handle held = by_->stream();
    gate closed(*by_, held);
    for (int i = 0; i != 3; ++i) {
        host_writes(used, noise(size));
        used.read_write(where_).release();
        EXPECT_TRUE(same(host_reads(used), noise(size)));
    }
    EXPECT_TRUE(under_way.end());
}

TEST_F(named_streams, are_streams_that_can_be_waited_for) {
    EXPECT_EQ(code_of([&] { name({driver::per_thread_stream}); }), error_code::invalid_argument);
    EXPECT_EQ(code_of([&] { cuda::use_streams(host, {}); }), error_code::invalid_argument);
    {
        capture under_way(other_);
        EXPECT_EQ(code_of([&] { name({mine_, other_}); }), error_code::unsupported);
        EXPECT_TRUE(under_way.end());
    }
    name({mine_, other_});
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    capture under_way(other_);
    EXPECT_EQ(code_of([&] { used.read(where_); }), error_code::unsupported);
    EXPECT_TRUE(under_way.end());
    used.read(where_).release();
}

/// A stream of the first device, which writes there, and one of the second, which takes what was written.
class two_devices : public cuda_test {
protected:
    void SetUp() override {
        cuda_test::SetUp();
        if (!IsSkipped()) find_second();
        if (IsSkipped()) return;
        there_.emplace(second_);
        takes_ = cuda::queue_of(there_->stream());
        here_.emplace();
        writes_ = here_->stream();
    }

    std::optional<program> there_;
    std::optional<program> here_;  // its context is current: it goes first
    queue takes_;
    stream_handle writes_ = nullptr;
};

TEST_F(two_devices, take_what_a_stream_writes_and_the_host_does_not_stop) {
    buffer used = mirrored(size);
    host_writes(used, noise(size));
    used.read(second_).release();
    gate closed(*here_, writes_);
    {
        const auto lease = used.read_write(where_, {.on = cuda::queue_of(writes_)});
        here_->set(writes_, address_of(lease), 5, size);
    }
    used.read(second_, {.on = takes_}).release();
    if (!stops_the_host_for_all()) used.prefetch(second_);
    EXPECT_EQ(code_of([&] { used.read(host, {.timeout = 0ns}); }), error_code::timeout);
    closed.open();
    EXPECT_TRUE(same(host_reads(used), bytes(size, std::byte{5})));
    used.mark_dirty(second_);
    EXPECT_TRUE(same(host_reads(used), bytes(size, std::byte{5})));
}

/// Who has a handle of the source may write to it as soon as the call returns.
TEST_F(two_devices, have_taken_what_a_handle_may_overwrite) {
    for (const bool bound : {false, true}) {
        buffer used = mirrored(size);
        host_writes(used, bytes(size, std::byte{1}));
        set_default_device(where_);
        standing_hold held;
        if (bound) held = used.bind(where_, access::read_write);
        const device_pointer at = bound ? address_of(held.native()) : address_of(used.device());
        used.mark_dirty(where_);
        for (unsigned char value = 2; value < 20; ++value) {
            used.read(second_, {.on = takes_}).release();
            here_->set(writes_, at, value, size);
            if (!bound) used.mark_dirty(where_);
        }
        EXPECT_TRUE(same(host_reads(used), bytes(size, std::byte{19})));
    }
}

TEST_F(cuda_test, one_device_waits_for_another) {
    find_second();
    if (IsSkipped()) return;
    program by(second_);
    const stream_handle stream = by.stream();
    const auto memory = backends::device_of(second_).allocate({.bytes = size});
    gate closed(by, stream);
    by.set(stream, memory->handle(), 5, size);
    const fence done = backends::device_of(second_).record(cuda::queue_of(stream));
    program here;
    const queue on = cuda::queue_of(here.stream());
    EXPECT_TRUE(device().order(done, on));
    const fence after = device().record(on);
    EXPECT_FALSE(after.wait(5ms));
    closed.open();
    EXPECT_TRUE(after.wait(60s));
}

}  // namespace
}  // namespace unibuf::contract::order_test
