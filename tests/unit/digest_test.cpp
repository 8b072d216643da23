// tests/unit/digest_test.cpp: contents that are compared by digest, where nobody finds what the program writes.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coherence/transitions.hpp"
#include "support/fake_device.hpp"
#include "support/own_process.hpp"
#include "tracking/digests.hpp"
#include "unit/common.hpp"

namespace unibuf::test::digest_test {
namespace {

using tracking::digest_of;
using tracking::digested_block;

TEST(digest, tells_blocks_apart) {
    const bytes block = noise(digested_block, 1);
    const auto low_and_high = [](std::span<const std::byte> of) {
        const tracking::digest made = digest_of(of);
        return std::pair(made.low, made.high);
    };
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen{low_and_high(block)};
    EXPECT_EQ(low_and_high(block), *seen.begin());
    for (std::size_t i = 0; i < digested_block; ++i) {
        for (const unsigned bit : {1U, 128U}) {
            bytes other = block;
            other[i] ^= static_cast<std::byte>(bit);
            EXPECT_TRUE(seen.insert(low_and_high(other)).second) << i;
        }
    }
    for (std::size_t word = 0; word + 8 < digested_block; word += 8) {
        bytes other = block;
        std::swap_ranges(other.begin() + static_cast<std::ptrdiff_t>(word),
                         other.begin() + static_cast<std::ptrdiff_t>(word + 8),
                         other.begin() + static_cast<std::ptrdiff_t>(word + 8));
        EXPECT_TRUE(seen.insert(low_and_high(other)).second) << word;
    }
    for (std::size_t count = 1; count < 200; ++count) {
        EXPECT_TRUE(seen.insert(low_and_high(std::span(block).first(count))).second) << count;
    }
}

TEST(digest, is_of_no_use_once_a_device_was_sent_what_nobody_has_one_of) {
    constexpr coherence::space_id one = 1, other = 2;
    coherence::directory known(digested_block);
    const coherence::sharing apart;
    coherence::wrote(known, known.whole(), coherence::host);
    const auto move = [&](coherence::space_id from, coherence::space_id to, bool digested) {
        coherence::complete(
            known, apart,
            {.does = coherence::step::kind::move, .part = known.whole(), .from = from, .to = to, .digested = digested});
        return known.first().digested;
    };
    EXPECT_FALSE(move(coherence::host, one, false));
    EXPECT_TRUE(move(coherence::host, one, true));
    EXPECT_TRUE(move(one, other, false)) << "it got what the digest is of";
    coherence::drop(known, known.whole(), coherence::host);
    EXPECT_TRUE(move(one, coherence::host, false));
    EXPECT_FALSE(move(coherence::host, other, false)) << "the program may have written before it was sent";
    EXPECT_TRUE(move(coherence::host, one, true));
    coherence::wrote(known, known.whole(), one);
    EXPECT_FALSE(known.first().digested);
}

class digest_costs : public testing::Test {
protected:
    static constexpr std::size_t mebibyte = std::size_t{1} << 20;

    static tracking::digest_costs::seconds of_a_mebibyte(double bytes_a_second) {
        return tracking::digest_costs::seconds(mebibyte / bytes_a_second);
    }
    void sent_at(double bytes_a_second) { by_.sent(mebibyte, of_a_mebibyte(bytes_a_second)); }
    void sent_digested_at(double bytes_a_second) { by_.sent_digested(mebibyte, 1, of_a_mebibyte(bytes_a_second)); }
    void compared_at(double bytes_a_second) { by_.compared(mebibyte, of_a_mebibyte(bytes_a_second)); }

    tracking::digest_costs by_;
};

TEST_F(digest_costs, are_not_known_before_something_was_sent) {
    EXPECT_FALSE(by_.is_known());
    by_.sent(tracking::digest_costs::least_sent - 1, std::chrono::seconds(1));
    EXPECT_FALSE(by_.is_known()) << "that tells of a call";
    EXPECT_FALSE(by_.pays(mebibyte, 0, 0));
    sent_at(3e9);
    EXPECT_TRUE(by_.is_known());
}

TEST_F(digest_costs, pay_where_comparing_is_faster_than_the_bus_and_little_was_written) {
    sent_at(3e9);
    compared_at(12e9);
    EXPECT_TRUE(by_.pays(mebibyte, 0, 0));
    EXPECT_TRUE(by_.pays(mebibyte, mebibyte / 2, 1));
    EXPECT_FALSE(by_.pays(mebibyte, mebibyte, 1));
    sent_digested_at(1.5e9);
    EXPECT_FALSE(by_.pays(mebibyte, mebibyte / 2, 1)) << "to keep digests takes more than was thought";
    EXPECT_TRUE(by_.pays(mebibyte, mebibyte / 10, 1));
}

TEST_F(digest_costs, do_not_pay_on_a_fast_bus) {
    sent_at(25e9);
    compared_at(12e9);
    EXPECT_FALSE(by_.pays(mebibyte, 0, 0));
}

TEST_F(digest_costs, do_not_pay_for_many_pieces) {
    sent_at(3e9);
    compared_at(12e9);
    sent_digested_at(2.5e9);
    by_.sent_digested(mebibyte / 2, 128, of_a_mebibyte(2.5e9) / 2 + std::chrono::milliseconds(1));
    EXPECT_TRUE(by_.pays(mebibyte, mebibyte / 4, 1));
    EXPECT_FALSE(by_.pays(mebibyte, mebibyte / 4, 64));
}

TEST_F(digest_costs, of_a_slow_first_transfer_are_forgotten) {
    sent_at(1e8);  // its memory was touched for the first time
    compared_at(12e9);
    EXPECT_TRUE(by_.pays(mebibyte, mebibyte * 9 / 10, 1));
    sent_digested_at(2.5e9);
    EXPECT_FALSE(by_.pays(mebibyte, mebibyte * 9 / 10, 1));
    EXPECT_TRUE(by_.pays(mebibyte, mebibyte / 10, 1));
}

TEST_F(digest_costs, follow_what_is_fast_at_once_and_what_is_slow_in_the_end) {
    sent_at(3e9);
    compared_at(12e9);
    compared_at(1e9);
    EXPECT_TRUE(by_.pays(mebibyte, 0, 0)) << "something disturbed it";
    for (int i = 0; i < 100; ++i) compared_at(1e9);
    EXPECT_FALSE(by_.pays(mebibyte, 0, 0));
    compared_at(12e9);
    EXPECT_TRUE(by_.pays(mebibyte, 0, 0));
}

// Content that is rewritten every second time looks to each comparison as if the next one would pay.
TEST(digest_policy, costs_little_beside_sending_whatever_is_written_when) {
    using seconds = tracking::digest_costs::seconds;
    constexpr std::size_t size = 4 * tracking::section_bytes;
    constexpr coherence::space_id device = 1;
    constexpr double plain = 6e9, with_digests = 3e9, compare = 12e9;  // bytes a second
    const auto time_of = [](std::size_t count, double speed) { return seconds(static_cast<double>(count) / speed); };
    const bytes memory(size);
    for (std::size_t rewritten_each = 1; rewritten_each <= 8; ++rewritten_each) {
        tracking::digests tried(memory);
        tried.costs_at(device).sent(size, time_of(size, plain));
        seconds took{};
        std::set<std::size_t> digested;
        constexpr std::size_t rounds = 1000;
        for (std::size_t round = 0; round < rounds; ++round) {
            const bool is_written = round % rewritten_each == 0;
            tracking::sections::for_each({0, size}, [&](byte_range section) {
                std::size_t compared = 0;
                byte_ranges written;
                if (digested.contains(section.begin)) {
                    compared = section.size();
                    took += time_of(compared, compare);
                    tried.costs_at(device).compared(compared, time_of(compared, compare));
                    if (is_written) written = byte_ranges(section);
                }
                const bool goes_on = tried.decide(device, section, compared, written);
                if (goes_on && compared != 0) return;
                const bool keeps = tried.is_wanted(device, section);
                const seconds sending = time_of(section.size(), keeps ? with_digests : plain);
                took += sending;
                if (keeps) {
                    digested.insert(section.begin);
                    tried.costs_at(device).sent_digested(section.size(), 1, sending);
                } else {
                    digested.erase(section.begin);
                    tried.costs_at(device).sent(section.size(), sending);
                }
            });
        }
        EXPECT_LT(took / time_of(rounds * size, plain), rewritten_each < 5 ? 1.06 : 1.0) << rewritten_each;
    }
}

/// Nothing else finds writes in the process. The host's copy and a device's are two memories.
class compared_by_digest : public testing::Test {
protected:
    /// Returns true where the test has been run in a process of its own.
    static bool has_run_alone() {
        if (is_alone("UNIBUF_TRACKING", "digest")) return false;
        run_alone("UNIBUF_TRACKING", "digest");
        return true;
    }

    static constexpr std::size_t block = digested_block;
    static constexpr std::size_t size = 700 * block + 100;  // more than a section
    static buffer made() { return buffer(size, {.hint = memory_hint::gpu_preferred}); }

    /// Returns how many bytes an access at the device moves, which has to see `expected`.
    std::uint64_t moved_for(const buffer& b, const bytes& expected) const {
        const std::uint64_t before = b.statistics().bytes_moved();
        EXPECT_TRUE(same(content(b, device_), expected));
        return b.statistics().bytes_moved() - before;
    }

    /// Stores `content` through the buffer's pointer, which is returned, and has the device get it.
    std::byte* written_and_sent(buffer& b, const bytes& content) const {
        std::byte* const host_pointer = b.host();
        std::ranges::copy(content, host_pointer);
        EXPECT_EQ(moved_for(b, content), size);
        return host_pointer;
    }

    const space device_{"debug:0"};
};

TEST_F(compared_by_digest, only_blocks_that_were_written_move) {
    if (has_run_alone()) return;
    buffer b = made();
    bytes expected = noise(size, 1);
    std::byte* const host_pointer = written_and_sent(b, expected);
    EXPECT_FALSE(b.placement(host).writes_found);
    EXPECT_EQ(moved_for(b, expected), 0U);
    for (const std::size_t at : {std::size_t{0}, 511 * block + 7, 512 * block, size - 1}) {
        host_pointer[at] = expected[at] ^= std::byte{1};
        EXPECT_EQ(moved_for(b, expected), at == size - 1 ? 100 : block) << at;
        EXPECT_EQ(moved_for(b, expected), 0U);
    }
    host_pointer[5] = expected[5] ^= std::byte{1};
    host_pointer[5] = expected[5] ^= std::byte{1};
    EXPECT_EQ(moved_for(b, expected), 0U) << "the device has these bytes";
}

TEST_F(compared_by_digest, two_devices_have_what_one_digest_is_of) {
    if (has_run_alone()) return;
    buffer b = made();
    bytes expected = noise(size, 1);
    std::byte* const host_pointer = written_and_sent(b, expected);
    const space other = fake_device::get({.addressable = true}).where();
    const auto moved_for_both = [&](bool is_other_first) {
        const std::uint64_t before = b.statistics().bytes_moved();
        for (const bool is_other : {is_other_first, !is_other_first}) {
            EXPECT_TRUE(same(content(b, is_other ? other : device_), expected));
        }
        return b.statistics().bytes_moved() - before;
    };
    EXPECT_EQ(moved_for_both(true), size);
    for (const std::size_t at : {std::size_t{0}, 300 * block}) {
        EXPECT_EQ(moved_for_both(at == 0), 0U);
        host_pointer[at] = expected[at] ^= std::byte{1};
        EXPECT_EQ(moved_for_both(at == 0), 2 * block);
    }
    EXPECT_EQ(moved_for_both(true), 0U);
}

TEST_F(compared_by_digest, a_pointer_that_is_given_out_again_takes_nothing_away) {
    if (has_run_alone()) return;
    buffer b = made();
    bytes expected = noise(size, 1);
    written_and_sent(b, expected);
    for (const bool is_released : {false, true, true}) {
        if (is_released) b.release_host();
        b.host()[block] = expected[block] ^= std::byte{1};
        if (is_released) b.release_host();
        EXPECT_EQ(moved_for(b, expected), block);
    }
    EXPECT_EQ(moved_for(b, expected), 0U);
}

TEST_F(compared_by_digest, what_a_device_has_written_is_not_what_it_was_sent) {
    if (has_run_alone()) return;
    buffer b = made();
    const bytes sent = noise(size, 1);
    std::byte* const host_pointer = written_and_sent(b, sent);
    put(b, noise(size, 2), device_);
    EXPECT_TRUE(same(content(b), noise(size, 2)));
    std::ranges::copy(sent, host_pointer);  // the digests that were kept are of this content
    EXPECT_EQ(moved_for(b, sent), size);
    EXPECT_EQ(moved_for(b, sent), 0U);
}

TEST_F(compared_by_digest, what_unibuf_has_written_is_sent) {
    if (has_run_alone()) return;
    buffer b = made();
    bytes expected = noise(size, 1);
    std::byte* const host_pointer = written_and_sent(b, expected);
    b.view(10 * block, block).fill(of(1, 9));
    std::fill_n(expected.begin() + 10 * block, block, std::byte{9});
    EXPECT_EQ(moved_for(b, expected), block);
    const bytes given = noise(3 * block, 4);
    b.view(20 * block, 3 * block).copy_from(given);
    std::ranges::copy(given, expected.begin() + 20 * block);
    EXPECT_EQ(moved_for(b, expected), 3 * block);
    b.discard(device_);
    EXPECT_EQ(moved_for(b, expected), size);
    host_pointer[0] = expected[0] ^= std::byte{1};
    b.discard(device_);
    EXPECT_EQ(moved_for(b, expected), size);
    EXPECT_EQ(moved_for(b, expected), 0U);
}

TEST_F(compared_by_digest, digests_go_with_the_copy_that_they_are_of) {
    if (has_run_alone()) return;
    buffer b = made();
    bytes expected = noise(size, 1);
    written_and_sent(b, expected);
    EXPECT_EQ(moved_for(b, expected), 0U);
    b.release_host();
    EXPECT_EQ(moved_for(b, expected), 0U);
    b.discard(host);
    std::byte* const host_pointer = b.host();
    const buffer half = b.view(0, size / 2);
    half.read(device_).release();
    host_pointer[size - 1] = expected[size - 1] ^= std::byte{1};
    EXPECT_TRUE(same(content(b, device_), expected));
    EXPECT_EQ(moved_for(b, expected), 0U);
}

TEST_F(compared_by_digest, a_part_of_a_block_moves_each_time) {
    if (has_run_alone()) return;
    buffer b = made();
    bytes expected = noise(size, 1);
    std::byte* const host_pointer = b.host();
    std::ranges::copy(expected, host_pointer);
    const buffer odd = b.view(block / 2, 2 * block);
    for (int i = 0; i < 3; ++i) {
        const std::uint64_t before = b.statistics().bytes_moved();
        const auto lease = odd.read(device_);
        EXPECT_TRUE(same(lease, part(expected, block / 2, 2 * block)));
        EXPECT_EQ(b.statistics().bytes_moved() - before, i == 0 ? 2 * block : block) << "one whole block has a digest";
        host_pointer[0] ^= std::byte{1};  // nobody has asked for that one
    }
}

}  // namespace
}  // namespace unibuf::test::digest_test
