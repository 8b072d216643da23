// tests/contract/debug_test.cpp: the device without hardware passes the suite, shares nothing, and shows what is stale.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>

#include "contract/contract.hpp"
#include "unibuf/lease_together.hpp"

UNIBUF_BACKEND_CONTRACT(debug, "debug:0");
UNIBUF_BUFFER_CONTRACT(debug, "debug:0");

namespace unibuf::contract {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// Returns the memory that this process has resident.
std::size_t resident_bytes() {
    std::size_t all = 0;
    std::size_t resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

bool is_poison(std::byte each) { return each == backends::poison; }
bool all_poison(std::span<const std::byte> bytes) { return std::ranges::all_of(bytes, is_poison); }

TEST(debug_memory, of_a_large_buffer_what_nobody_uses_takes_no_memory) {
    const space device("debug:0");
    buffer large(1024 * mib);
    const std::size_t before = resident_bytes();
    std::ranges::fill(large.write(host, {.offset = 600 * mib, .count = 50}), std::byte{7});
    EXPECT_EQ(large.read(device, {.offset = 600 * mib, .count = 10})[9], std::byte{7});
    std::ranges::fill(large.write(device, {.offset = 900 * mib, .count = 50}), std::byte{8});
    EXPECT_EQ(large.read(host, {.offset = 900 * mib, .count = 10})[9], std::byte{8});
    EXPECT_LT(resident_bytes() - before, 64 * mib);
}

TEST(debug_memory, a_write_lease_of_what_was_never_used_shows_poison) {
    const space device("debug:0");
    buffer large(8 * mib);
    const auto lease = large.write(device, {.offset = mib + 5, .count = 3 * mib});
    EXPECT_TRUE(all_poison(lease));
}

/// The copy is there then, and an access that has nothing to move takes the short way.
TEST(debug_memory, what_is_written_after_an_access_of_no_bytes_is_kept) {
    const space device("debug:0");
    const access_options none{.offset = 0, .count = 0};
    const auto accesses = std::to_array<std::function<void(buffer&)>>({
        [&](buffer& of) { of.prefetch(device, none); },
        [&](buffer& of) { of.read(device, none).release(); },
        [&](buffer& of) { of.copy_view(device, 0, 0); },
        [&](buffer& of) { of.view(0, 0).fill(std::array{std::byte{1}}, device); },
    });
    const auto writes = std::to_array<std::function<lease<std::byte>(buffer&)>>({
        [&](buffer& of) { return of.write(device); },
        [&](buffer& of) { return std::get<0>(lease_together(of.to_write(device))); },
    });
    for (const auto& access : accesses) {
        for (const auto& write : writes) {
            buffer large(mib);
            std::ranges::fill(large.write(host), std::byte{1});
            access(large);
            std::ranges::fill(write(large), std::byte{2});
            const auto seen = large.read(host);
            EXPECT_TRUE(std::ranges::all_of(seen, [](std::byte each) { return each == std::byte{2}; }));
        }
    }
}

TEST(debug_memory, beside_what_a_lease_covers_there_is_poison) {
    const space device("debug:0");
    buffer large(8 * mib);
    std::ranges::fill(large.write(host), std::byte{1});
    const auto lease = large.read(device, {.offset = 3 * mib, .count = 10});
    EXPECT_EQ(lease[0], std::byte{1});
    EXPECT_TRUE(all_poison({lease.data() + 10, 100'000}));
    EXPECT_TRUE(all_poison({lease.data() - 100'000, 100'000}));
}

TEST(debug_memory, beside_what_a_lease_covers_there_is_poison_in_a_new_copy_of_the_host) {
    buffer small(100);
    std::ranges::fill(small.write("debug:0"), std::byte{1});
    const auto lease = small.read(host, {.offset = 50, .count = 10});
    EXPECT_EQ(lease[0], std::byte{1});
    EXPECT_TRUE(all_poison({lease.data() + 10, 40}));
    EXPECT_TRUE(all_poison({lease.data() - 50, 50}));
    buffer partly(100);  // what nobody has written is zero
    std::ranges::fill(partly.write("debug:0", {.count = 20}), std::byte{1});
    static_cast<void>(partly.read(host, {.offset = 10, .count = 5}));
    EXPECT_EQ(partly.read(host)[19], std::byte{1});
    EXPECT_EQ(partly.read(host)[20], std::byte{0});
}

TEST(debug_memory, what_the_host_has_written_since_is_poison) {
    const space device("debug:0");
    buffer large(8 * mib);
    std::ranges::fill(large.write(host), std::byte{1});
    const std::span<const std::byte> all = large.read(device);  // the lease ends, and this is looked at
    EXPECT_TRUE(std::ranges::all_of(all, [](std::byte each) { return each == std::byte{1}; }));
    std::ranges::fill(large.write(host, {.offset = 2 * mib - 7, .count = 3 * mib}), std::byte{2});
    EXPECT_TRUE(all_poison(all.subspan(2 * mib - 7, 3 * mib)));
    EXPECT_EQ(std::ranges::count_if(all, is_poison), static_cast<std::ptrdiff_t>(3 * mib));
}

TEST(debug_memory, what_was_filled_or_has_arrived_is_not_poisoned_by_a_later_lease_beside_it) {
    const space device("debug:0");
    buffer large(8 * mib);
    std::ranges::fill(large.write(host, {.offset = 0, .count = 4 * mib}), std::byte{1});
    large.read(device, {.offset = 100, .count = 3 * mib}).release();
    large.write(device, {.offset = 5 * mib, .count = 100}).release();
    large.write(device, {.offset = 3 * mib + 100, .count = 10}).release();
    const auto lease = large.read(device, {.offset = 100, .count = 3 * mib});
    EXPECT_TRUE(std::ranges::all_of(lease, [](std::byte each) { return each == std::byte{1}; }));
}

}  // namespace
}  // namespace unibuf::contract
