// tests/fault/lease_end_fault_test.cpp: the end of a lease, and of a buffer, where the host has no memory left.
#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <optional>
#include <vector>

#include "fault/no_memory.hpp"
#include "support/fake_device.hpp"
#include "support/own_process.hpp"
#include "support/sanitizers.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/error.hpp"
#include "unibuf/memory_pool.hpp"
#include "unibuf/registry.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf::test::lease_end_fault_test {
namespace {

constexpr std::size_t size = 32;

std::vector<std::byte> of(int value) { return std::vector<std::byte>(size, static_cast<std::byte>(value)); }

/// Work that the device could not record, as that takes memory, is waited for all the same.
TEST(the_end_of_a_lease, needs_no_memory) {
    const space where = fake_device::get({.asynchronous = true}).where();
    buffer b(3 * size);
    std::vector<lease<std::byte>> held;
    for (const std::size_t offset : {std::size_t{0}, size, 2 * size}) {
        held.push_back(b.write(where, {.offset = offset, .count = size}));
        kernel_write(held.back().native(), 0, of(static_cast<int>(offset)));
    }
    {
        const no_memory while_they_end;
        for (auto& each : held) each.release();
    }
    for (const std::size_t offset : {std::size_t{0}, size, 2 * size}) {
        const auto read = b.read(host, {.offset = offset, .count = size});
        EXPECT_TRUE(std::ranges::equal(read, of(static_cast<int>(offset)))) << offset;
    }
}

// A page that system calls may write is found by nobody there: where it cannot be opened or shut, it is not watched.
TEST(bytes_that_arrive, are_right_where_a_signal_finds_writes_and_there_is_no_memory) {
    if (has_thread_sanitizer) GTEST_SKIP() << "it puts off signals, also those of faults";
    if (!is_alone("UNIBUF_TRACKING", "signal")) return run_alone("UNIBUF_TRACKING", "signal");
    const space where("debug:0");
    constexpr std::size_t part = 8192;
    buffer b(std::size_t{1} << 20);
    std::byte* const at_host = b.host();
    b.read(where).release();
    bool was_felt = true;
    for (unsigned granted = 0; was_felt; ++granted) {
        const auto value = static_cast<std::byte>(granted);
        std::ranges::fill(b.write(where, {.offset = part, .count = part}), value);
        {
            const no_memory denied(granted);
            try {
                b.sync_to_host();
            } catch (const std::bad_alloc&) {
            }
            was_felt = denied.was_felt();
        }
        b.sync_to_host();
        EXPECT_EQ(at_host[part], value);
        at_host[part] ^= std::byte{1};
        EXPECT_EQ(b.read(where)[part], at_host[part]);
    }
}

TEST(the_end_of_the_first_buffer_that_has_a_name, needs_no_memory) {
    const char* const name = "a name that is longer than what a string holds in place";
    for (const bool is_pooled : {false, true}) {
        memory_pool pool;
        std::optional<buffer> named = is_pooled ? pool.acquire(size) : buffer(size);
        get_registry().add(name, *named, shape(size), "|u1", false);
        {
            const no_memory while_it_ends;
            if (is_pooled) pool.release(std::move(*named));
            named.reset();
        }
        EXPECT_FALSE(get_registry().find(name)) << is_pooled;
    }
}

TEST(a_name_that_was_refused, is_not_there) {
    const char* const name = "a name that is longer than what a string holds in place";
    for (unsigned granted = 0, denied = 1; denied != 0; ++granted) {
        buffer b(size);
        denied = 0;
        try {
            const no_memory once(granted);
            get_registry().add(name, b, true);
        } catch (const std::bad_alloc&) {
            denied = 1;
        }
        EXPECT_EQ(get_registry().find(name).has_value(), denied == 0) << granted;
        EXPECT_EQ(b.is_only_handle(), denied != 0) << granted;
        ASSERT_LT(granted, 100u);
    }
    get_registry().remove(name);
}

TEST(the_end_of_a_buffer, needs_no_memory_in_opengl) {
    space where;
    try {
        where = space("opengl:0");
    } catch (const error& missing) {
        GTEST_SKIP() << missing.what();
    }
    const std::uint64_t before = memory_in(where).held;
    std::optional<buffer> b(std::in_place, 3 * size, buffer_options{.device = where});
    b->read_write(where).release();
    EXPECT_GT(memory_in(where).held, before);
    {
        const no_memory while_it_ends;
        b.reset();
    }
    EXPECT_EQ(memory_in(where).held, before);
}

}  // namespace
}  // namespace unibuf::test::lease_end_fault_test
