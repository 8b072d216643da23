// tests/unit/tracking_watch_test.cpp: what a watch by the kernel finds, by itself.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "support/seeds.hpp"
#include "tracking_pages.hpp"

namespace unibuf::tracking::test {

/// Scans while others write, and compares what the scans have told of with what is there.
void page_watch::scan_while_others_write() {
    constexpr int writers = 3;
    constexpr int stores = 20000;
    by_->arm(whole());
    std::atomic<int> busy = writers;
    const auto byte_at = [](std::byte* where) { return std::atomic_ref(reinterpret_cast<unsigned char&>(*where)); };
    // `taken` gets the newest content that a scan has told of, as a transfer would take it.
    mapping taken(count * page);
    const auto take = [&] {
        for (const byte_range& each : scan(*by_, whole())) {
            for (std::size_t i = each.begin; i < each.end; ++i) {
                taken.data()[i] = std::byte{byte_at(memory_.data() + i).load(std::memory_order_relaxed)};
            }
        }
    };
    {
        std::vector<std::jthread> threads;
        for (int w = 0; w < writers; ++w) {
            threads.emplace_back([this, w, &busy, byte_at] {
                std::minstd_rand random(unibuf::test::seed(static_cast<unsigned>(w) + 1));
                for (int i = 0; i < stores; ++i) {
                    // Each thread has bytes of its own in all pages.
                    const std::size_t line = random() % (count * page / 64);
                    byte_at(memory_.data() + line * 64 + w)
                        .store(static_cast<unsigned char>(i | 1), std::memory_order_relaxed);
                }
                --busy;
            });
        }
        while (busy != 0) take();
    }
    take();
    EXPECT_EQ(std::memcmp(taken.data(), memory_.data(), count * page), 0);
    EXPECT_EQ(scan(*by_, whole()), ranges{});
}

namespace {

TEST_F(page_watch, finds_nothing_before_a_store) {
    by_->arm(whole());
    EXPECT_FALSE(by_->any_written(whole()));
    EXPECT_EQ(scan(*by_, whole()), ranges{});
}

TEST_F(page_watch, finds_a_store_of_any_size_once) {
    by_->arm(whole());
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{2}, std::size_t{8}, std::size_t{64}, page}) {
        std::memset(memory_.data() + 5 * page, static_cast<int>(bytes), bytes);
        EXPECT_TRUE(by_->any_written(whole())) << bytes;
        EXPECT_TRUE(by_->any_written(whole())) << bytes;  // a look changes nothing
        EXPECT_EQ(scan(*by_, whole()), ranges{pages(5, 1)}) << bytes;
        EXPECT_EQ(scan(*by_, whole()), ranges{}) << bytes;
    }
}

TEST_F(page_watch, finds_a_store_of_the_value_that_was_there) {
    by_->arm(whole());
    std::memset(memory_.data() + page, 0, 1);
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(1, 1)});
}

TEST_F(page_watch, reading_is_no_write) {
    by_->arm(whole());
    EXPECT_EQ(std::ranges::count(memory_.span(), std::byte{1}), 0);
    EXPECT_EQ(scan(*by_, whole()), ranges{});
}

TEST_F(page_watch, finds_both_pages_of_a_store_across_them) {
    by_->arm(whole());
    const std::uint64_t value = ~std::uint64_t{0};
    std::memcpy(memory_.data() + 3 * page - 4, &value, sizeof(value));
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(2, 2)});
}

TEST_F(page_watch, finds_first_and_last_byte) {
    by_->arm(whole());
    memory_.span().front() = std::byte{1};
    memory_.span().back() = std::byte{1};
    EXPECT_EQ(scan(*by_, whole()), (ranges{pages(0, 1), pages(count - 1, 1)}));
}

TEST_F(page_watch, finds_more_regions_than_one_call_tells) {
    const std::size_t many = 2000;
    const mapping memory(many * page);
    const auto by = make_watch(memory.span(), own_pages::all);
    ASSERT_TRUE(by);
    by->arm({0, many * page});
    ranges wanted;
    for (std::size_t i = 0; i < many; i += 2) {
        memory.data()[i * page + i] = std::byte{1};
        wanted.push_back(pages(i, 1));
    }
    EXPECT_EQ(scan(*by, {0, many * page}), wanted);
}

TEST_F(page_watch, finds_what_system_calls_write) {
    if (kernel::is_by_signal()) GTEST_SKIP() << "no system call can write these pages";
    by_->arm(whole());
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    ASSERT_EQ(::write(ends[1], "unibuf", 6), 6);
    ASSERT_EQ(::read(ends[0], memory_.data() + 2 * page - 3, 6), 6);
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(1, 2)});

    std::array<int, 2> sockets{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
    ASSERT_EQ(::send(sockets[1], "unibuf", 6, 0), 6);
    ASSERT_EQ(::recv(sockets[0], memory_.data() + 9 * page, 6, 0), 6);
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(9, 1)});
    EXPECT_EQ(std::memcmp(memory_.data() + 9 * page, "unibuf", 6), 0);
    for (const int each : {ends[0], ends[1], sockets[0], sockets[1]}) ::close(each);
}

TEST_F(page_watch, finds_what_the_standard_library_writes) {
    const std::span numbers(reinterpret_cast<int*>(memory_.data() + 8 * page), 8 * page / sizeof(int));
    std::iota(numbers.rbegin(), numbers.rend(), 0);
    by_->arm(whole());
    std::ranges::sort(numbers);
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(8, 8)});
    std::memmove(memory_.data() + page, memory_.data() + 8 * page, 2 * page);
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(1, 2)});
}

TEST_F(page_watch, dropped_pages_count_as_written) {
    if (kernel::is_by_signal()) GTEST_SKIP() << "a handler is not told of what is dropped";
    std::ranges::fill(memory_.span(), std::byte{1});
    by_->arm(whole());
    ASSERT_EQ(::madvise(memory_.data() + 4 * page, 2 * page, MADV_DONTNEED), 0);
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(4, 2)});
    EXPECT_EQ(memory_.data()[4 * page], std::byte{0});
    EXPECT_EQ(scan(*by_, whole()), ranges{});
    memory_.data()[4 * page] = std::byte{1};
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(4, 1)});
}

TEST_F(page_watch, looks_only_where_it_is_told_rounded_outwards) {
    by_->arm(whole());
    for (std::size_t i = 0; i < 8; ++i) memory_.data()[i * page] = std::byte{1};
    EXPECT_EQ(scan(*by_, {2 * page + 1, 2 * page + 2}), ranges{pages(2, 1)});
    EXPECT_EQ(scan(*by_, {4 * page - 1, 4 * page + 1}), ranges{pages(3, 2)});
    EXPECT_EQ(scan(*by_, whole()), (ranges{pages(0, 2), pages(5, 3)}));
}

TEST_F(page_watch, arming_forgets_what_came_before_rounded_outwards) {
    by_->arm(whole());
    for (std::size_t i = 0; i < 4; ++i) memory_.data()[i * page] = std::byte{1};
    by_->arm({page + 1, 2 * page + 1});
    EXPECT_EQ(scan(*by_, whole()), (ranges{pages(0, 1), pages(3, 1)}));
}

TEST_F(page_watch, disarming_is_rounded_inwards) {
    by_->arm(whole());
    by_->disarm({page - 1, 3 * page + 1});
    // Pages that are not armed read as written. Pages 0 and 3 are still armed.
    EXPECT_FALSE(by_->any_written(pages(0, 1)));
    EXPECT_FALSE(by_->any_written(pages(3, 1)));
    EXPECT_TRUE(by_->any_written(pages(1, 1)));
    EXPECT_TRUE(by_->any_written(pages(2, 1)));
    by_->disarm({5 * page + 1, 6 * page - 1});  // holds no whole page
    EXPECT_FALSE(by_->any_written(pages(5, 1)));
    by_->arm(pages(1, 2));
    EXPECT_EQ(scan(*by_, whole()), ranges{});
}

TEST_F(page_watch, the_last_page_is_the_buffers_however_little_it_uses) {
    by_.reset();
    const std::size_t bytes = 3 * page + 10;
    by_ = make_watch(memory_.span().first(bytes), own_pages::all);
    ASSERT_TRUE(by_);
    by_->arm({0, bytes});
    memory_.data()[bytes - 1] = std::byte{1};
    EXPECT_EQ(scan(*by_, {0, bytes}), (ranges{{3 * page, bytes}}));
    by_->disarm({3 * page, bytes});
    EXPECT_TRUE(by_->any_written({3 * page, bytes}));
}

TEST_F(page_watch, touched_tells_what_was_ever_written) {
    if (kernel::is_by_signal()) GTEST_SKIP() << "a handler is told of what is protected alone";
    EXPECT_EQ(touched(*by_, whole()), ranges{});
    [[maybe_unused]] volatile std::byte seen = memory_.data()[0];  // a read maps the zero page
    EXPECT_EQ(touched(*by_, whole()), ranges{});
    memory_.data()[3 * page] = std::byte{1};
    memory_.data()[7 * page + 1] = std::byte{0};
    EXPECT_EQ(touched(*by_, whole()), (ranges{pages(3, 1), pages(7, 1)}));
    EXPECT_EQ(touched(*by_, pages(4, 8)), ranges{pages(7, 1)});
    EXPECT_EQ(touched(*by_, whole()), (ranges{pages(3, 1), pages(7, 1)}));  // a look changes nothing
}

TEST_F(page_watch, fresh_memory_is_armed_and_what_was_touched_is_told) {
    memory_.data()[3 * page] = std::byte{1};
    [[maybe_unused]] volatile std::byte seen = memory_.data()[5 * page];
    ranges found;
    by_->arm_fresh(whole(), found);
    EXPECT_EQ(joined(found), ranges{pages(3, 1)});
    EXPECT_EQ(scan(*by_, whole()), ranges{});
    for (const std::size_t each : {3U, 5U, 9U}) memory_.data()[each * page] = std::byte{1};
    EXPECT_EQ(scan(*by_, whole()), (ranges{pages(3, 1), pages(5, 1), pages(9, 1)}));
}

TEST_F(page_watch, no_write_is_missed_while_fresh_memory_is_armed) {
    for (int run = 0; run < 50; ++run) {
        by_.reset();
        const mapping memory(count * page);
        by_ = make_watch(memory.span(), own_pages::all);
        ASSERT_TRUE(by_);
        std::atomic<bool> started = false;
        std::jthread writer([&] {
            for (std::size_t i = 0; i < count; ++i) {
                std::atomic_ref(reinterpret_cast<unsigned char&>(memory.data()[i * page])).store(1);
                started = true;
            }
        });
        while (!started) std::this_thread::yield();
        ranges found;
        by_->arm_fresh(whole(), found);
        writer.join();
        by_->scan(whole(), {}, found);
        EXPECT_EQ(joined(found), ranges{whole()}) << run;
        by_.reset();
    }
}

TEST_F(page_watch, tells_bytes_apart_in_a_page_that_is_compared) {
    by_->arm(whole());
    const std::size_t line = compared_piece::line;
    std::byte* const in_page = memory_.data() + 3 * page;
    in_page[0] = std::byte{1};
    ranges before;
    by_->compare(pages(3, 1), before);
    EXPECT_EQ(before, ranges{pages(3, 1)}) << "the kernel tells what was written until then";
    EXPECT_EQ(scan(*by_, whole()), ranges{});

    const byte_range apart{3 * page + line + 10, 3 * page + line + 20};
    const auto found = [&] {
        ranges result;
        by_->scan(whole(), [&](byte_range of) { return byte_ranges(apart).clipped_to(of); }, result);
        return joined(result);
    };
    in_page[line + 12] = in_page[line + 15] = std::byte{2};
    EXPECT_EQ(found(),
              (ranges{{3 * page + line + 12, 3 * page + line + 13}, {3 * page + line + 15, 3 * page + line + 16}}));
    in_page[line + 12] = in_page[line + 20] = std::byte{3};
    EXPECT_EQ(found(), (ranges{{3 * page + line, 3 * page + line + 10},
                               {3 * page + line + 12, 3 * page + line + 13},
                               {3 * page + line + 20, 3 * page + 2 * line}}));
    in_page[line + 14] = std::byte{4};
    by_->take_bytes({3 * page + line + 14, 3 * page + line + 15});
    EXPECT_EQ(found(), ranges{}) << "unibuf has written that itself";

    in_page[0] = std::byte{5};
    by_->leave_to_kernel(whole(), [](byte_range) { return false; });
    EXPECT_EQ(found(), ranges{pages(3, 1)}) << "what was written before is found by its page";
}

TEST_F(page_watch, misses_no_write_while_a_page_is_to_be_compared) {
    by_->arm(whole());
    auto& counter = reinterpret_cast<std::uint32_t&>(memory_.data()[3 * page]);
    for (int run = 0; run < 300; ++run) {
        std::atomic<bool> ended = false;
        std::jthread writer([&] {
            for (std::uint32_t i = 0; i < 200; ++i) std::atomic_ref(counter).fetch_add(1);
            ended = true;
        });
        std::uint32_t seen = 0;
        ranges found;
        while (!ended) {
            by_->compare(pages(3, 1), found);
            by_->scan(whole(), {}, found);
            if (!found.empty()) std::memcpy(&seen, by_->image({3 * page, 3 * page + 4}).get(), sizeof seen);
            found.clear();
            by_->leave_to_kernel(whole(), [](byte_range) { return false; });
        }
        writer.join();
        by_->compare(pages(3, 1), found);
        by_->scan(whole(), {}, found);
        if (!found.empty()) std::memcpy(&seen, by_->image({3 * page, 3 * page + 4}).get(), sizeof seen);
        ASSERT_EQ(seen, counter) << run;
        by_->leave_to_kernel(whole(), [](byte_range) { return false; });
    }
}

TEST_F(page_watch, misses_no_write_while_others_write) { scan_while_others_write(); }

}  // namespace
}  // namespace unibuf::tracking::test
