// tests/unit/tracking_limits_test.cpp: what a process has only so many of.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "support/own_process.hpp"
#include "support/process_limits.hpp"
#include "support/sanitizers.hpp"
#include "tracking/watch.hpp"
#include "unit/common.hpp"

namespace unibuf::test::tracking_limits_test {
namespace {

constexpr std::size_t page = 4096;

TEST(tracking_limits, pointers_into_thousands_of_buffers_are_all_followed) {
    struct one {
        buffer of{2 * page};
        std::byte* pointer = nullptr;
    };
    const space device("debug:0");
    std::vector<one> all(4000);
    for (one& each : all) {
        std::ranges::fill(each.of.write(host), std::byte{1});
        each.pointer = each.of.host();
        const auto there = each.of.read(device);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        std::memcpy(all[i].pointer + i % (page - sizeof i), &i, sizeof i);
        const std::uint64_t before = all[i].of.statistics().bytes_moved();
        std::size_t found = 0;
        const auto there = all[i].of.read(device);
        std::memcpy(&found, there.data() + i % (page - sizeof i), sizeof found);
        ASSERT_EQ(found, i);
        const std::uint64_t moved = all[i].of.statistics().bytes_moved() - before;
        ASSERT_EQ(moved, tracking::about().finds_writes ? page : 2 * page);
    }
}

std::size_t mappings_now() {
    std::ifstream lines("/proc/self/maps");
    std::size_t result = 0;
    for (std::string line; std::getline(lines, line);) ++result;
    return result;
}

TEST(tracking_limits, small_buffers_have_their_mappings_in_common) {
    const space device("debug:0");
    const std::size_t before = mappings_now();
    std::vector<buffer> all;
    std::vector<std::byte*> pointers;
    constexpr std::size_t count = has_address_sanitizer ? 8'000 : 40'000;
    for (std::size_t i = 0; i < count; ++i) {
        all.emplace_back(page);
        pointers.push_back(all.back().host());
        pointers.back()[i % page] = std::byte{1};
        all.back().read(device).release();
    }
    EXPECT_LT(mappings_now(), before + 1000);  // some are a sanitizer's
    for (std::size_t i = 0; i < all.size(); i += 7) pointers[i][i % page] = std::byte{2};
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool written = i % 7 == 0;
        if (tracking::about().finds_writes) {
            ASSERT_EQ(all[i].state(), written ? buffer_state::host_dirty : buffer_state::synchronized) << i;
        }
        ASSERT_EQ(all[i].read(device)[i % page], written ? std::byte{2} : std::byte{1}) << i;
    }
}

TEST(tracking_limits, what_is_watched_leaves_mappings_to_the_program) {
    if (mappings::most() > 100'000) GTEST_SKIP() << "a process has too many mappings here";
    if (has_thread_sanitizer) GTEST_SKIP() << "the thread sanitizer has mappings of its own for each";
    constexpr std::size_t large = 600'000;
    const space device("debug:0");
    std::vector<buffer> all;
    std::byte* last = nullptr;
    while (all.size() < mappings::most() / 2) {
        all.emplace_back(large);
        last = all.back().host();
    }
    EXPECT_LT(mappings_now(), mappings::most() / 4 * 3);
    for (const std::byte value : {std::byte{1}, std::byte{2}}) {  // the last buffer is not watched, and still right
        last[large - 1] = value;
        EXPECT_EQ(all.back().read(device)[large - 1], value);
    }
}

}  // namespace
}  // namespace unibuf::test::tracking_limits_test
