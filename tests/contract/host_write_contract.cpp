// tests/contract/host_write_contract.cpp: what the host writes through pointers reaches this space, and nothing else
// moves.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "contract/contract.hpp"
#include "support/sanitizers.hpp"
#include "support/seeds.hpp"
#include "system/pages.hpp"
#include "tracking/kernel.hpp"
#include "tracking/watch.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/transfer_cost.hpp"

namespace unibuf::contract::host_write_suite {
namespace {

const std::size_t page = system::page_size();

buffer_options options_of(space where, memory_hint hint, write_tracking tracking) {
    buffer_options options;
    options.device = where;
    options.hint = hint;
    options.tracking = tracking;
    return options;
}

buffer mirrored(std::size_t count, space where, write_tracking tracking = write_tracking::automatic) {
    return buffer(count, options_of(where, memory_hint::gpu_preferred, tracking));
}

/// Returns what the device has: it becomes the newest, and all of it is fetched.
bytes device_has(buffer& from, space where) {
    from.read(where).release();
    from.mark_dirty(where);
    const auto lease = from.read(host);
    return bytes(lease.begin(), lease.end());
}

std::uint64_t moved_by_reading(buffer& from, space where) {
    const std::uint64_t before = from.statistics().bytes_moved();
    from.read(where).release();
    return from.statistics().bytes_moved() - before;
}

/// Returns whether writes of a buffer of this size are found on this machine.
bool finds(std::size_t count) {
    return tracking::about().finds_writes || (count < page && !tracking::kernel::is_off());
}

constexpr unsigned by_kernel = 0;

/// Writes as a program does: by itself, or by the kernel in its name.
void store(std::span<std::byte> to, std::span<const std::byte> content, unsigned how) {
    if (how == by_kernel) {
        std::array<int, 2> ends{};
        ASSERT_EQ(::pipe(ends.data()), 0);
        const std::size_t some = std::min<std::size_t>(content.size(), 60000);  // a pipe takes no more
        ASSERT_EQ(::write(ends[1], content.data(), some), static_cast<ssize_t>(some));
        ASSERT_EQ(::read(ends[0], to.data(), some), static_cast<ssize_t>(some));
        ::close(ends[0]);
        ::close(ends[1]);
        std::memcpy(to.data() + some, content.data() + some, content.size() - some);
    } else if (how == 1) {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] = content[i];
    } else {
        std::memcpy(to.data(), content.data(), content.size());
    }
}

/// A program of random writers, accesses and views, with the bytes as they should be.
class program {
public:
    program(space where, std::size_t count, const buffer_options& options, unsigned seed)
        : where_(where), used_(count, options), is_(count), random_(seed) {
        pointer_ = used_.host();
    }

    void step() {
        const unsigned what = number(10);
        if (what < 4) return write();
        if (what == 4) return write_by_threads();
        if (what == 5) return write_a_view();
        if (what == 6) return fill_at_device();
        if (what == 7) pointer_ = used_.host();
        if (what < 9) {
            const auto [offset, count] = range();
            used_.read(where_, {.offset = offset, .count = count}).release();
            return;
        }
        compare();
    }

    void compare() { ASSERT_TRUE(same(device_has(used_, where_), is_)); }

private:
    struct piece {
        std::size_t offset;
        std::size_t count;
    };

    unsigned number(std::size_t below) {
        return static_cast<unsigned>(std::uniform_int_distribution<std::size_t>(0, below - 1)(random_));
    }

    piece range() {
        const std::size_t offset = number(is_.size());
        const std::size_t most = is_.size() - offset;
        const std::size_t count = 1 + number(number(2) == 0 ? std::min<std::size_t>(most, 9) : most);
        return {offset, count};
    }

    void write() {
        const auto [offset, count] = range();
        const bytes content = noise(count, number(1000));
        const unsigned how = number(3);
        if (tracking::kernel::is_by_signal() && how == by_kernel) {  // which may write what is leased alone
            const auto lease = used_.write(host, {.offset = offset, .count = count});
            store({lease.data(), count}, content, how);
        } else {
            store({pointer_ + offset, count}, content, how);
        }
        std::ranges::copy(content, is_.begin() + static_cast<std::ptrdiff_t>(offset));
    }

    void write_by_threads() {
        const std::size_t half = is_.size() / 2;
        const bytes content = noise(is_.size(), number(1000));
        {
            const std::jthread first([&] { std::memcpy(pointer_, content.data(), half); });
            const std::jthread second([&] {
                for (std::size_t i = half; i < content.size(); ++i) pointer_[i] = content[i];
            });
        }
        is_ = content;
    }

    void write_a_view() {
        const auto [offset, count] = range();
        const bytes content = noise(count, number(1000));
        {
            const auto view = used_.host_view(offset, count);
            std::ranges::copy(content, view.begin());
        }
        std::ranges::copy(content, is_.begin() + static_cast<std::ptrdiff_t>(offset));
    }

    /// Fills at the device. The host has it again before the program writes on: two newest versions are another test's.
    void fill_at_device() {
        const auto [offset, count] = range();
        used_.read(where_).release();
        used_.mark_dirty(where_, offset, count);
        const std::byte value = noise(1, number(1000))[0];
        used_.view(offset, count).fill({&value, 1});
        std::fill_n(is_.begin() + static_cast<std::ptrdiff_t>(offset), count, value);
        used_.read(host).release();
    }

    space where_;
    buffer used_;
    bytes is_;
    std::minstd_rand random_;
    std::byte* pointer_ = nullptr;
};

TEST_P(host_write_contract, the_device_has_what_random_writers_wrote) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{300}, page, 3 * page + 100, 70 * page + 1}) {
        for (const memory_hint hint : {memory_hint::gpu_preferred, memory_hint::cpu_preferred}) {
            for (const write_tracking tracking : {write_tracking::automatic, write_tracking::off}) {
                for (unsigned seed = 1; seed <= 3; ++seed) {
                    program written(where_, count, options_of(where_, hint, tracking), test::seed(seed));
                    for (int i = 0; i < 40 && !HasFatalFailure(); ++i) written.step();
                    written.compare();
                    ASSERT_FALSE(HasFatalFailure()) << count << " bytes, seed " << seed;
                }
            }
        }
    }
}

TEST_P(host_write_contract, only_pages_that_were_written_move) {
    const std::size_t count = 64 * page;
    if (!finds(count)) GTEST_SKIP() << tracking::about().description;
    set_transfer_cost(where_, {});
    buffer used = mirrored(count, where_);
    std::byte* const old = used.host();
    std::ranges::copy(noise(count), old);
    used.read(where_).release();
    EXPECT_EQ(moved_by_reading(used, where_), 0u);
    EXPECT_EQ(used.state(), buffer_state::synchronized);

    old[5 * page + 17] = std::byte{1};
    old[9 * page - 1] = std::byte{2};
    old[9 * page] = std::byte{3};
    EXPECT_EQ(used.state(), buffer_state::host_dirty);
    EXPECT_EQ(moved_by_reading(used, where_), 3 * page);
    EXPECT_EQ(used.state(), buffer_state::synchronized);
    EXPECT_EQ(moved_by_reading(used, where_), 0u);

    old[count - 1] = std::byte{4};
    used.release_host();
    EXPECT_EQ(moved_by_reading(used, where_), page) << "one last look";
    EXPECT_EQ(moved_by_reading(used, where_), 0u);
    bytes wanted = noise(count);
    wanted[5 * page + 17] = std::byte{1};
    wanted[9 * page - 1] = std::byte{2};
    wanted[9 * page] = std::byte{3};
    wanted[count - 1] = std::byte{4};
    EXPECT_TRUE(same(device_has(used, where_), wanted));
}

TEST_P(host_write_contract, a_fresh_buffer_moves_what_was_touched) {
    const std::size_t count = 64 * page;
    if (!finds(count)) GTEST_SKIP() << tracking::about().description;
    set_transfer_cost(where_, {});
    buffer used = mirrored(count, where_);
    std::byte* const old = used.host();
    EXPECT_EQ(used.state(), buffer_state::host_only);
    old[7 * page] = std::byte{1};
    EXPECT_EQ(used.state(), buffer_state::host_dirty);
    EXPECT_EQ(moved_by_reading(used, where_), page);
    bytes wanted(count);
    wanted[7 * page] = std::byte{1};
    EXPECT_TRUE(same(device_has(used, where_), wanted));
}

TEST_P(host_write_contract, a_view_ends_what_it_began) {
    const std::size_t count = 16 * page;
    if (!finds(count)) GTEST_SKIP() << tracking::about().description;
    set_transfer_cost(where_, {});
    buffer used = mirrored(count, where_);
    {
        auto first = used.host_view(0, 8 * page);
        auto second = used.host_view(4 * page, 12 * page);
        std::ranges::fill(first, std::byte{1});
        std::ranges::fill(second, std::byte{2});
        used.read(where_).release();
        first.release();
        EXPECT_EQ(first.data(), nullptr);
        second[0] = std::byte{3};
        EXPECT_EQ(moved_by_reading(used, where_), page);
        second[12 * page - 1] = std::byte{4};
        EXPECT_EQ(code_of([&] { used.discard(host); }), error_code::access_conflict);
    }
    EXPECT_EQ(used.state(), buffer_state::host_dirty);
    EXPECT_EQ(moved_by_reading(used, where_), page);
    used.discard(host);  // nobody holds the host's copy any more
    EXPECT_EQ(used.state(), buffer_state::device_only);
    const bytes got = device_has(used, where_);
    EXPECT_EQ(got[0], std::byte{1});
    EXPECT_EQ(got[4 * page], std::byte{3});
    EXPECT_EQ(got[count - 1], std::byte{4});
}

TEST_P(host_write_contract, a_view_keeps_its_memory) {
    std::optional<buffer> used = mirrored(2 * page, where_);
    auto view = used->host_view();
    used->read(where_).release();
    used.reset();
    std::ranges::fill(view, std::byte{7});
    EXPECT_EQ(view[page], std::byte{7});
}

TEST_P(host_write_contract, a_writer_during_a_transfer_is_found_by_the_next_access) {
    if (test::has_thread_sanitizer) {
        GTEST_SKIP() << "a program that writes while its bytes move has a race, and ThreadSanitizer says so";
    }
    const std::size_t count = 256 * page;
    buffer used = mirrored(count, where_);
    volatile std::byte* const old = used.host();
    std::atomic<bool> stop = false;
    std::jthread writer([&] {
        std::minstd_rand random(test::seed(1));
        while (!stop) {
            const auto at = std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
            old[at] = static_cast<std::byte>(random());
        }
    });
    for (int i = 0; i < 50; ++i) used.read(where_).release();
    stop = true;
    writer.join();
    bytes wanted(count);
    for (std::size_t i = 0; i < count; ++i) wanted[i] = old[i];
    EXPECT_TRUE(same(device_has(used, where_), wanted));
}

/// A buffer with two newest versions: neither is dropped until somebody says which stands.
class two_versions {
public:
    two_versions(space where, std::size_t count)
        : where_(where), used(mirrored(count, where)), old(used.host()), wanted(noise(count)) {
        std::ranges::copy(wanted, old);
        used.read(where_).release();
        used.mark_dirty(where_, begin, end - begin);
        const std::byte value{0xD0};
        used.view(begin, end - begin).fill({&value, 1});
        std::fill(wanted.begin() + begin, wanted.begin() + end, value);
        old[begin - 1] = wanted[begin - 1] = std::byte{0x11};  // beside the range, in the same page
        EXPECT_EQ(used.state(), buffer_state::mixed);
        old[at] = std::byte{0x22};
    }

    static constexpr std::size_t begin = 10;
    static constexpr std::size_t end = 250;
    static constexpr std::size_t at = 100;

    space where_;
    buffer used;
    std::byte* old;
    bytes wanted;
};

TEST_P(host_write_contract, a_write_where_the_device_is_newer_is_a_conflict) {
    for (const std::size_t count : {std::size_t{300}, 3 * page}) {
        if (!finds(count)) GTEST_SKIP() << tracking::about().description;
        two_versions both(where_, count);
        EXPECT_EQ(both.used.state(), buffer_state::mixed);
        for (const space each : {where_, host}) {
            std::string message;
            EXPECT_EQ(code_of([&] { both.used.read(each); }, &message), error_code::access_conflict) << each.name();
            EXPECT_NE(message.find("bytes ["), std::string::npos) << message;
        }
        both.used.read(where_, {.offset = both.end}).release();  // nobody has touched the bytes from there on
        EXPECT_EQ(both.old[both.at], std::byte{0x22});
        both.used.mark_dirty(where_, {.count = 0});
        EXPECT_EQ(code_of([&] { both.used.read(where_); }), error_code::access_conflict);
    }
}

TEST_P(host_write_contract, either_of_two_versions_may_stand) {
    for (const std::size_t count : {std::size_t{300}, 3 * page}) {
        if (!finds(count)) GTEST_SKIP() << tracking::about().description;
        {
            two_versions both(where_, count);
            EXPECT_EQ(code_of([&] { both.used.read(where_); }), error_code::access_conflict);
            both.used.mark_dirty(where_, both.begin, both.end - both.begin);
            EXPECT_TRUE(same(device_has(both.used, where_), both.wanted)) << "the device stands";
        }
        {
            two_versions both(where_, count);
            both.used.mark_dirty(where_, both.begin, both.end - both.begin);  // marked before anybody has looked
            EXPECT_TRUE(same(device_has(both.used, where_), both.wanted));
        }
        {
            two_versions both(where_, count);
            EXPECT_EQ(code_of([&] { both.used.read(host); }), error_code::access_conflict);
            both.used.discard(host);
            EXPECT_TRUE(same(device_has(both.used, where_), both.wanted)) << "the host's version was discarded";
        }
        {
            two_versions both(where_, count);
            both.used.mark_host_dirty();
            const bytes at_host(both.old, both.old + count);
            EXPECT_EQ(at_host[both.at], std::byte{0x22});
            EXPECT_TRUE(same(device_has(both.used, where_), at_host)) << "the host stands";
        }
    }
}

/// What is written next to it makes an image of the unit, which must not take the store for old.
TEST_P(host_write_contract, a_conflict_outlasts_a_write_beside_it_in_the_same_unit) {
    for (const std::size_t count : {std::size_t{300}, 3 * page}) {
        if (!finds(count)) GTEST_SKIP() << tracking::about().description;
        for (const space beside : {where_, host}) {
            buffer used = mirrored(count, where_);
            std::byte* const old = used.host();
            used.write(where_).release();
            used.fill(bytes{std::byte{0x11}});  // there, as nobody else has the content
            old[3] = std::byte{0x22};
            used.write(beside, {.offset = 16}).release();
            EXPECT_EQ(code_of([&] { used.read(where_); }), error_code::access_conflict) << beside.name();
            used.mark_dirty(where_, {.count = 16});
            EXPECT_EQ(device_has(used, where_)[3], std::byte{0x11});
        }
    }
}

/// A store to bytes that were marked is told from bytes of the same page that a device has newer.
TEST_P(host_write_contract, a_store_beside_newer_bytes_is_no_conflict_once_its_own_were_marked) {
    for (const std::size_t count : {std::size_t{300}, 3 * page}) {
        if (!finds(count)) GTEST_SKIP() << tracking::about().description;
        buffer used = mirrored(count, where_);
        std::byte* const old = used.host();
        used.write(where_).release();
        used.mark_host_dirty(0, 20);
        old[10] = std::byte{5};
        EXPECT_NO_THROW(used.read(where_).release()) << count;
        EXPECT_EQ(used.read(host)[10], std::byte{5});
    }
}

/// Neither what a lease writes nor what arrives from the device is a write through a pointer.
TEST_P(host_write_contract, what_unibuf_writes_itself_is_not_found) {
    for (const std::size_t count : {std::size_t{300}, 5 * page + 300}) {
        if (!finds(count)) continue;
        set_transfer_cost(where_, {});
        buffer used = mirrored(count, where_);
        std::byte* const old = used.host();
        std::ranges::copy(noise(count), old);
        used.read(where_).release();
        for (const auto& [offset, some] :
             {std::pair<std::size_t, std::size_t>{100, 150}, {0, count}, {count - 50, 50}}) {
            used.mark_dirty(where_, offset, some);
            used.read(host).release();
            EXPECT_EQ(used.state(), buffer_state::synchronized) << offset;
            EXPECT_EQ(moved_by_reading(used, where_), 0u) << offset;
        }
        old[120] = std::byte{1};
        EXPECT_EQ(used.state(), buffer_state::host_dirty) << "it is watched again";
        EXPECT_GT(moved_by_reading(used, where_), 0u);
    }
}

/// Nor is what a device writes to many rows, also where that is the host's memory, and a third space has newer bytes
/// between them.
TEST_P(host_write_contract, rows_that_a_device_writes_are_not_found) {
    constexpr std::size_t row = 200;
    for (const std::size_t rows : {64U, 65U, 300U}) {
        if (!finds(rows * row)) GTEST_SKIP() << tracking::about().description;
        for (const bool by_fill : {true, false}) {
            buffer used(rows * row, options_of(where_, memory_hint::cpu_preferred, write_tracking::automatic));
            std::fill_n(used.host(), rows * row, std::byte{1});
            used.read(where_).release();
            std::ranges::fill(used.write(space("debug:0")), std::byte{2});
            const std::array along{slice(full_extent), slice{0, 100}};
            buffer halves = used.view(shape(rows, row), 1, along);
            if (by_fill) {
                halves.fill(bytes{std::byte{3}}, where_);
            } else {
                halves.copy_from(bytes(rows * 100, std::byte{3}), where_);
            }
            bytes expected(rows * row, std::byte{2});
            for (std::size_t i = 0; i < rows; ++i) {
                std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(i * row), 100, std::byte{3});
            }
            bytes got(rows * row);
            EXPECT_NO_THROW(used.copy_to(got)) << rows;
            EXPECT_TRUE(same(got, expected)) << rows;
        }
    }
}

}  // namespace
}  // namespace unibuf::contract::host_write_suite
