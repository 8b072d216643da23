// tests/unit/memory_pool_test.cpp: buffers that are used again.
#include "unibuf/memory_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <latch>
#include <optional>
#include <thread>

#include "support/fake_device.hpp"
#include "support/own_process.hpp"
#include "tracking/kernel.hpp"
#include "tracking/watch.hpp"
#include "unibuf/registry.hpp"
#include "unit/common.hpp"

namespace unibuf::test::memory_pool_test {
namespace {

error_code refused(memory_pool& by, buffer& of) {
    try {
        by.release(std::move(of));
    } catch (const error& thrown) {
        return thrown.code();
    }
    return error_code::unsupported;
}

class pool : public testing::Test {
protected:
    const space device{"debug:0"};
    memory_pool of_;
};

TEST_F(pool, gives_back_the_buffer_that_was_just_released) {
    auto first = of_.acquire<float>({1000});
    const float* const memory = first.write(host).data();
    of_.release(std::move(first));
    auto second = of_.acquire<float>({1000});
    EXPECT_EQ(second.size(), 1000u);
    EXPECT_EQ(second.write(host).data(), memory);
    const pool_statistics seen = of_.statistics();
    EXPECT_EQ(seen.hits, 1u);
    EXPECT_EQ(seen.misses, 1u);
}

TEST_F(pool, keeps_the_copies) {
    buffer first = of_.acquire(100);
    first.write(device);
    const std::uint64_t held = memory_in(device).held;
    of_.release(std::move(first));
    EXPECT_EQ(memory_in(device).held, held);
    buffer second = of_.acquire(100);
    second.write(device);
    EXPECT_EQ(memory_in(device).held, held);
}

TEST_F(pool, gives_what_fits_of_another_size) {
    buffer first = of_.acquire(1000);
    const std::uint64_t id = first.id();
    first.copy_from(of(1000, 7));
    of_.release(std::move(first));
    buffer second = of_.acquire(1024);
    EXPECT_EQ(second.id(), id);
    EXPECT_EQ(second.size_bytes(), 1024u);
    second.copy_from(noise(1024));
    EXPECT_EQ(content(second, device), noise(1024));
    of_.release(std::move(second));
    buffer third = of_.acquire(970);
    EXPECT_EQ(third.id(), id);
    EXPECT_EQ(content(third), of(970, 0));
}

TEST_F(pool, gives_what_work_of_the_last_owner_uses_to_the_next_when_that_is_done) {
    fake_device& fake = fake_device::get({.aliases = true, .asynchronous = true});
    const space before = default_device();
    set_default_device(fake.where());
    constexpr std::size_t size = 64;
    buffer first = of_.acquire(size);
    first.copy_from(noise(size, 1));
    kernel_write(first.device(), 0, noise(size, 2));  // unibuf knows nothing of it
    of_.release(std::move(first));
    buffer next = of_.acquire(size);
    next.copy_from(noise(size, 3));
    fake.queued().run_all();
    EXPECT_TRUE(same(content(next), noise(size, 3)));
    set_default_device(before);
}

TEST_F(pool, tells_options_apart) {
    buffer plain = of_.acquire(100);
    const std::uint64_t id = plain.id();
    of_.release(std::move(plain));
    EXPECT_NE(of_.acquire(100, {.hint = memory_hint::gpu_preferred}).id(), id);
    EXPECT_NE(of_.acquire(100, {.device = device}).id(), id);
    EXPECT_NE(of_.acquire(100, {.uninitialized = true}).id(), id);
    EXPECT_NE(of_.acquire(200).id(), id);
    EXPECT_EQ(of_.acquire(100).id(), id);
}

TEST_F(pool, shows_nobody_what_was_there_before) {
    for (const space where : {host, device}) {
        buffer first = of_.acquire(5000);
        std::ranges::fill(first.write(where), std::byte{7});
        const auto elsewhere = content(first, where == host ? device : host);
        of_.release(std::move(first));
        buffer second = of_.acquire(5000);
        EXPECT_EQ(content(second, device), of(5000, 0));
        EXPECT_EQ(content(second, host), of(5000, 0));
    }
}

TEST_F(pool, shows_it_where_that_was_asked_for_but_debug_devices_poison_it) {
    const buffer_options as_it_is{.uninitialized = true};
    buffer first = of_.acquire(5000, as_it_is);
    first.copy_from(of(5000, 7));
    content(first, device);
    of_.release(std::move(first));
    buffer second = of_.acquire(5000, as_it_is);
    EXPECT_EQ(content(second), of(5000, 7));
    EXPECT_NE(content(second, device), of(5000, 7));
}

TEST_F(pool, watches_no_page_before_another_space_has_been_current) {
    if (!tracking::about().finds_writes) GTEST_SKIP() << tracking::about().description;
    constexpr std::size_t page = 4096;
    constexpr std::size_t size = 600 * page;
    for (const bool whole : {true, false}) {
        buffer first = of_.acquire(size);
        std::memset(first.host(), 1, size);
        content(first, device);
        of_.release(std::move(first));
        buffer second = of_.acquire(size);
        std::byte* const pointer = second.host();
        EXPECT_NE(second.state(), buffer_state::host_dirty);
        const auto protected_bytes = [&] {
            std::vector<byte_range> written;
            const std::span all(pointer, size);
            tracking::kernel::instance().scan(all, tracking::kernel::look_for::written, all, written, size);
            std::size_t result = size;
            for (const byte_range& each : written) result -= each.size();
            return result;
        };
        EXPECT_EQ(protected_bytes(), 0u);
        std::memset(pointer + 7 * page, 3, whole ? size - 7 * page : page);
        EXPECT_EQ(second.state(), buffer_state::host_dirty);
        bytes expected = of(size, 0);
        std::memset(expected.data() + 7 * page, 3, whole ? size - 7 * page : page);
        EXPECT_EQ(content(second, device), expected);
        EXPECT_EQ(second.statistics().bytes_moved(), whole ? size - 7 * page : page);
        EXPECT_EQ(protected_bytes(), size);
        pointer[9 * page] = expected[9 * page] = std::byte{5};
        EXPECT_EQ(content(second, device), expected);
        of_.release(std::move(second));
        of_.trim(0);
    }
}

TEST_F(pool, begins_statistics_anew) {
    buffer first = of_.acquire(100);
    first.copy_from(of(100, 1));
    content(first, device);
    of_.release(std::move(first));
    buffer second = of_.acquire(100);
    EXPECT_EQ(second.statistics().bytes_moved(), 0u);
}

TEST_F(pool, refuses_what_is_leased_and_leaves_it_as_it_is) {
    buffer b = of_.acquire(100);
    b.copy_from(of(100, 3));
    {
        const auto lease = b.read(host);
        EXPECT_EQ(refused(of_, b), error_code::access_conflict);
    }
    {
        const auto lease = b.view(10, 5).read(device);
        EXPECT_EQ(refused(of_, b), error_code::access_conflict);
    }
    EXPECT_EQ(content(b), of(100, 3));
    of_.release(std::move(b));
}

TEST_F(pool, refuses_what_it_cannot_take) {
    buffer foreign(100);
    EXPECT_EQ(refused(of_, foreign), error_code::invalid_argument);
    memory_pool other;
    buffer of_other = other.acquire(100);
    EXPECT_EQ(refused(of_, of_other), error_code::invalid_argument);
    other.release(std::move(of_other));
    EXPECT_EQ(refused(other, of_other), error_code::invalid_argument);  // refused a second time
    buffer mine = of_.acquire(100);
    buffer part = mine.view(0, 50);
    EXPECT_EQ(refused(of_, part), error_code::invalid_argument);
    buffer again = mine.view(0, 100);
    of_.release(std::move(mine));
    EXPECT_EQ(refused(of_, again), error_code::invalid_argument);  // it was released by its other handle
}

TEST_F(pool, hands_out_nothing_that_a_view_holds_still) {
    buffer first = of_.acquire(100);
    const std::uint64_t id = first.id();
    std::optional<unibuf::host_view<std::byte>> view = first.host_view();
    of_.release(std::move(first));
    buffer second = of_.acquire(100);
    EXPECT_NE(second.id(), id);
    (*view)[0] = std::byte{9};
    view.reset();
    buffer third = of_.acquire(100);
    EXPECT_EQ(third.id(), id);
    EXPECT_EQ(content(third), of(100, 0));
}

TEST_F(pool, hands_out_nothing_that_is_leased_still) {
    buffer first = of_.acquire(100);
    const std::uint64_t id = first.id();
    std::optional<buffer> view = first.view(0, 100);
    of_.release(std::move(first));
    std::optional<lease<std::byte>> lease = view->write(host);
    view.reset();
    buffer second = of_.acquire(100);
    EXPECT_NE(second.id(), id);
    lease.reset();
    buffer third = of_.acquire(100);
    EXPECT_EQ(third.id(), id);
    EXPECT_EQ(content(third), of(100, 0));
}

TEST_F(pool, ends_names_that_a_view_got_after_the_release) {
    auto first = of_.acquire<int>({100});
    const std::uint64_t id = first.bytes().id();
    std::optional<unified_buffer<int>> view = first.view(0, 100);
    of_.release(std::move(first));
    get_registry().add("late", *view);
    view.reset();
    const auto second = of_.acquire<int>({100});
    EXPECT_EQ(second.bytes().id(), id);
    EXPECT_FALSE(get_registry().find<int>("late"));
}

TEST_F(pool, hands_out_nothing_that_a_view_has_shared) {
    buffer first = of_.acquire(100);
    std::optional<buffer> view = first.view(0, 100);
    of_.release(std::move(first));
    const std::string name = view->share();
    view.reset();
    buffer second = of_.acquire(100);
    EXPECT_FALSE(second.is_shared());
    EXPECT_THROW(buffer::attach(name), error);
    of_.release(std::move(second));
}

/// The caches of a thread have gone then.
TEST_F(pool, takes_what_a_thread_destroys_last) {
    static memory_pool other;
    static memory_pool* one = nullptr;
    one = &of_;
    struct owner {
        std::optional<pooled<int>> first;
        std::optional<pooled<int>> second;
    };
    for (int i = 0; i < 10; ++i) {
        std::thread([] {
            static thread_local owner last;  // made before the caches
            last.first.emplace(*one, shape(1000));
            last.second.emplace(other, shape(1000));
        }).join();
    }
    EXPECT_LE(of_.statistics().held, 2u) << "one may lie where ending threads leave theirs";
    EXPECT_LE(other.statistics().held, 2u);
    EXPECT_GE(other.statistics().hits, 8u);
}

TEST_F(pool, takes_what_a_process_destroys_last) {
    constexpr const char* variable = "UNIBUF_TEST_END_OF_PROCESS";
    if (!is_alone(variable, "1")) return run_alone(variable, "1");
    static memory_pool own;
    static std::unique_ptr<pooled<int>> first;
    static std::unique_ptr<pooled<int>> second;
    first = std::make_unique<pooled<int>>(own, shape(1000));
    second = std::make_unique<pooled<int>>(get_memory_pool(), shape(1000));
}

TEST_F(pool, ends_pointers) {
    buffer first = of_.acquire(8192);
    std::byte* const pointer = first.host();
    content(first, device);
    of_.release(std::move(first));
    buffer second = of_.acquire(8192);
    pointer[0] = std::byte{9};  // a mistake of the program, which must not pass for a write of the next owner
    const auto lease = second.read(device);
    EXPECT_EQ(lease[0], std::byte{0});
}

TEST_F(pool, trims_what_was_released_longest_ago) {
    std::vector<buffer> all;
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 4; ++i) all.push_back(of_.acquire(1024));
    for (buffer& each : all) {
        ids.push_back(each.id());
        of_.release(std::move(each));
    }
    EXPECT_EQ(of_.statistics().held, 4u);
    EXPECT_EQ(of_.statistics().held_bytes, 4096u);
    of_.trim(2048);
    EXPECT_EQ(of_.statistics().held, 2u);
    EXPECT_EQ(of_.acquire(1024).id(), ids[3]);
    EXPECT_EQ(of_.acquire(1024).id(), ids[2]);
    of_.clear();
    EXPECT_EQ(of_.statistics().held_bytes, 0u);
    EXPECT_EQ(of_.statistics().peak_bytes, 4096u);
}

TEST_F(pool, holds_no_more_than_its_limit) {
    of_.limit(2048);
    std::vector<buffer> all;
    for (int i = 0; i < 4; ++i) all.push_back(of_.acquire(1024));
    const std::uint64_t last = all.back().id();
    for (buffer& each : all) of_.release(std::move(each));
    EXPECT_EQ(of_.statistics().held_bytes, 2048u);
    EXPECT_EQ(of_.acquire(1024).id(), last);
    of_.limit(0);
    of_.release(of_.acquire(1024));
    EXPECT_EQ(of_.statistics().held, 0u);
    of_.limit(no_memory_limit);
    of_.release(of_.acquire(1024));
    EXPECT_EQ(of_.statistics().held, 1u);
}

TEST_F(pool, counts_what_is_in_use) {
    buffer before = of_.acquire(500);
    of_.count_use();
    of_.reserve(2, 3000);  // nobody uses these
    EXPECT_EQ(of_.use(), pool_use{});
    buffer first = of_.acquire(1000);
    std::optional<buffer> second = of_.acquire(3000);
    EXPECT_EQ(of_.use(), (pool_use{4000, 2, 4000, 2, 4000, 2}));
    of_.release(std::move(first));
    EXPECT_EQ(of_.use(), (pool_use{3000, 1, 4000, 2, 4000, 2}));
    second.reset();  // it ends, and is not released
    of_.release(std::move(before));
    EXPECT_EQ(of_.use(), (pool_use{0, 0, 4000, 2, 4000, 2}));
    of_.release(of_.acquire(970));  // in the buffer of the first
    EXPECT_EQ(of_.use(), (pool_use{0, 0, 4000, 2, 4970, 3}));
}

TEST_F(pool, counts_what_is_refused_as_in_use) {
    of_.count_use();
    buffer b = of_.acquire(100);
    {
        const auto lease = b.read(host);
        EXPECT_EQ(refused(of_, b), error_code::access_conflict);
    }
    EXPECT_EQ(of_.use().current_bytes, 100u);
    of_.release(std::move(b));
    EXPECT_EQ(of_.use().current_bytes, 0u);
}

TEST_F(pool, counts_nothing_unless_asked) {
    of_.release(of_.acquire(100));
    EXPECT_EQ(of_.use(), pool_use{});
}

TEST_F(pool, reserves) {
    of_.reserve(3, 1000, device);
    const pool_statistics before = of_.statistics();
    EXPECT_EQ(before.held, 3u);
    const std::uint64_t at_device = memory_in(device).held;
    const std::uint64_t at_host = memory_in(host).held;
    std::vector<buffer> all;
    for (int i = 0; i < 3; ++i) {
        all.push_back(of_.acquire(1000));
        all.back().write(device);
        all.back().write(host);
    }
    EXPECT_EQ(of_.statistics().misses, before.misses);
    EXPECT_EQ(memory_in(device).held, at_device);
    EXPECT_EQ(memory_in(host).held, at_host);
}

TEST_F(pool, reserves_what_the_host_may_not_write) {
    const buffer_options options{.access = host_access::read_only};
    of_.reserve(2, 1000, device, options);
    EXPECT_EQ(of_.statistics().held, 2u);
    const buffer reserved = of_.acquire(1000, options);
    EXPECT_EQ(of_.statistics().hits, 1u);
}

TEST_F(pool, reserves_nothing_where_the_buffers_could_not_even_be_listed) {
    try {
        of_.reserve(rest, 8, device);
        FAIL() << "2^64 buffers were reserved";
    } catch (const error& thrown) {
        EXPECT_EQ(thrown.code(), error_code::out_of_memory) << thrown.what();
    }
    EXPECT_EQ(of_.statistics().misses, 0u);
}

TEST_F(pool, what_it_holds_goes_first_where_memory_is_short) {
    limit_memory(device, 2 * 1024);
    buffer used(1024);
    std::ranges::fill(used.write(device), std::byte{1});
    buffer released = of_.acquire(1024);
    released.write(device);
    of_.release(std::move(released));
    buffer wanted(1024);
    wanted.write(device);
    EXPECT_EQ(used.statistics().evictions, 0u);
    EXPECT_EQ(of_.statistics().held, 1u);  // the buffer is held without its copy at the device
    limit_memory(device, no_memory_limit);
}

TEST_F(pool, may_go_before_its_buffers) {
    std::optional<memory_pool> short_lived(std::in_place);
    buffer b = short_lived->acquire(100);
    b.copy_from(of(100, 4));
    short_lived.reset();
    EXPECT_EQ(content(b, device), of(100, 4));
}

TEST_F(pool, frees_all_with_itself) {
    const std::uint64_t before = memory_in_all().held;
    {
        memory_pool own;
        own.reserve(5, 3000, device);
        EXPECT_GT(memory_in_all().held, before);
    }
    EXPECT_EQ(memory_in_all().held, before);
}

TEST_F(pool, a_scope_gives_back) {
    {
        pooled<int> b(of_, {64});
        b->fill(3);
        EXPECT_EQ(b->read(host)[63], 3);
    }
    EXPECT_EQ(of_.statistics().misses, 1u);
    EXPECT_EQ(of_.statistics().held, 1u);
}

TEST_F(pool, serves_threads) {
    constexpr unsigned threads = 64;
    std::latch start(threads);
    std::atomic<unsigned> wrong = 0;
    {
        std::vector<std::jthread> running;
        for (unsigned me = 0; me < threads; ++me) {
            running.emplace_back([&, me] {
                start.arrive_and_wait();
                for (unsigned i = 0; i < 50; ++i) {
                    auto b = of_.acquire<unsigned>({100 + (me + i) % 3 * 100});
                    auto other = of_.acquire<unsigned>({100});
                    wrong += b.read(host)[99] != 0;
                    std::ranges::fill(b.write(host), me);
                    std::ranges::fill(other.write(host), ~me);
                    wrong += b.read(device)[50] != me;
                    of_.release(std::move(other));
                    if (i % 4 != 0) of_.release(std::move(b));
                    if (i % 16 == 0) of_.trim(1 << 16);
                }
            });
        }
    }
    EXPECT_EQ(wrong, 0u);
    const pool_statistics seen = of_.statistics();
    EXPECT_EQ(seen.hits + seen.misses, 64u * 100);
    EXPECT_GT(seen.hits, seen.misses);
}

/// Handles that were given out end with the release, also where a view lives a moment longer.
TEST_F(pool, keeps_no_handle_beside_a_view_that_outlives_the_release) {
    const default_device_is by_default(device);
    constexpr std::size_t size = 10'000;
    buffer b = of_.acquire(size);
    put(b, of(size, 1), device);
    b.device();
    {
        const auto view = b.host_view(10, 100);
        of_.release(std::move(b));
    }
    limit_memory(device, 12'000);
    buffer other(11'000);
    EXPECT_NO_THROW(put(other, of(11'000, 2), device));
    limit_memory(device, no_memory_limit);
}

/// A pointer lives as long as a handle of its buffer: those of a view that outlived the release go with the view.
TEST_F(pool, keeps_no_pointer_of_a_view_that_has_ended) {
    const default_device_is by_default(device);
    constexpr std::size_t size = 10'000;
    buffer b = of_.acquire(size);
    put(b, of(size, 1), device);
    {
        buffer view = b.view(10, 100);
        of_.release(std::move(b));
        view.device();
        *view.host() = std::byte{2};
        put(view, of(100, 3), device);
        limit_memory(device, 12'000);
        buffer other(11'000);
        EXPECT_THROW(other.write(device), error) << "while somebody has the view, the handle is good";
    }
    buffer other(11'000);
    EXPECT_NO_THROW(put(other, of(11'000, 2), device));
    limit_memory(device, no_memory_limit);
}

}  // namespace
}  // namespace unibuf::test::memory_pool_test
