// tests/unit/arena_test.cpp: small allocations from blocks: apart from each other, given out again, and given back.
#include "backends/arena.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "unibuf/error.hpp"

namespace unibuf::backends::arena_test {
namespace {

constexpr arena::measures small{.block = 4096, .granule = 64, .largest = 1024};

/// Blocks of addresses that stand for nothing.
class an_arena : public testing::Test {
protected:
    class numbered : public arena::block {
    public:
        explicit numbered(an_arena& of, std::size_t bytes) : of_(of) {
            const std::scoped_lock lock(of_.mutex_);
            address_ = of_.next_;
            of_.next_ += bytes;  // blocks lie side by side
            of_.alive_.insert(address_);
        }
        ~numbered() override {
            const std::scoped_lock lock(of_.mutex_);
            of_.alive_.erase(address_);
        }
        std::uintptr_t address() const noexcept override { return address_; }

    private:
        an_arena& of_;
        std::uintptr_t address_ = 0;
    };

    /// Work that is done when the test says so, or when somebody waits for it.
    struct manual final : fence::work {
        explicit manual(std::atomic<bool>& done) : is_done(done) {}
        bool wait(std::chrono::nanoseconds timeout) override {
            if (timeout.count() > 0) is_done = true;
            return is_done;
        }
        std::atomic<bool>& is_done;
    };

    static bool in_one_block(std::uintptr_t begin, std::size_t bytes) {
        return begin / small.block == (begin + bytes - 1) / small.block;
    }

    static constexpr bool in_use = true;
    static constexpr bool unused = false;

    /// Fills a block.
    std::set<std::uintptr_t> four() {
        std::set<std::uintptr_t> all;
        for (int i = 0; i != 4; ++i) all.insert(tried_.allocate(1024).address);
        return all;
    }

    std::size_t blocks() {
        const std::scoped_lock lock(mutex_);
        return alive_.size();
    }

    std::mutex mutex_;
    std::mutex marking_;
    std::set<std::uintptr_t> alive_;
    std::uintptr_t next_ = small.block;
    std::size_t most_blocks_ = std::numeric_limits<std::size_t>::max();
    std::atomic<bool> work_is_done_ = true;
    bool may_mark_ = true;
    int marks_ = 0;
    arena tried_{small,
                 [this](std::size_t bytes) {
                     if (blocks() >= most_blocks_) throw error(error_code::out_of_memory, "no more blocks");
                     return std::make_unique<numbered>(*this, bytes);
                 },
                 [this] {
                     const std::scoped_lock one_at_a_time(marking_);
                     ++marks_;
                     tried_.begin_fence();
                     if (!may_mark_) throw error(error_code::transfer_failed, "not now");
                     tried_.end_fence(fence(std::make_shared<manual>(work_is_done_)));
                 }};
};

TEST_F(an_arena, gives_parts_of_one_block) {
    const std::uintptr_t first = tried_.allocate(100).address;
    const std::uintptr_t second = tried_.allocate(1).address;
    EXPECT_EQ(alive_.size(), 1);
    EXPECT_EQ(first % small.granule, 0);
    EXPECT_EQ(second % small.granule, 0);
    EXPECT_TRUE(second >= first + 100 || first >= second + 1);
    EXPECT_EQ(tried_.used().bytes, 128 + 64);
}

TEST_F(an_arena, serves_small_ones_only) {
    EXPECT_TRUE(tried_.serves(small.largest));
    EXPECT_FALSE(tried_.serves(small.largest + 1));
}

TEST_F(an_arena, gives_out_again_what_no_work_uses) {
    most_blocks_ = 1;
    std::vector<std::uintptr_t> all;
    for (int i = 0; i != 4; ++i) all.push_back(tried_.allocate(1024).address);
    for (const std::uintptr_t each : all) tried_.free(each, 1024, unused);
    const std::set<std::uintptr_t> before(all.begin(), all.end());
    std::set<std::uintptr_t> after;
    for (int i = 0; i != 4; ++i) after.insert(tried_.allocate(1024).address);
    EXPECT_EQ(after, before);
    EXPECT_EQ(marks_, 0);
}

TEST_F(an_arena, gives_out_again_what_work_has_used_that_nobody_knew) {
    const std::uintptr_t first = tried_.allocate(1024).address;
    tried_.free(first, 1024, in_use);
    EXPECT_NE(tried_.allocate(1024).address, first);
    work_is_done_ = false;
    tried_.begin_fence();
    const std::uintptr_t later = tried_.allocate(1024).address;
    tried_.free(later, 1024, in_use);  // the fence may have been made before work that uses this
    tried_.end_fence(fence(std::make_shared<manual>(work_is_done_)));
    EXPECT_NE(tried_.allocate(1024).address, first);
    work_is_done_ = true;
    EXPECT_EQ(tried_.allocate(1024).address, first);
    EXPECT_NE(tried_.allocate(1024).address, later);
    EXPECT_EQ(marks_, 0);
}

/// A mark may disturb what the program does with a device.
TEST_F(an_arena, asks_for_a_mark_where_there_is_no_room_otherwise) {
    most_blocks_ = 2;
    for (int i = 0; i != 2; ++i) {
        for (const std::uintptr_t each : four()) tried_.free(each, 1024, in_use);
        EXPECT_EQ(marks_, 0);
    }
    EXPECT_EQ(four().size(), 4);
    EXPECT_EQ(marks_, 1);
}

TEST_F(an_arena, takes_another_block_while_work_may_use_what_was_freed) {
    work_is_done_ = false;
    std::set<std::uintptr_t> before;
    for (int i = 0; i != 4; ++i) before.insert(tried_.allocate(1024).address);
    for (const std::uintptr_t each : before) tried_.free(each, 1024, in_use);
    for (int i = 0; i != 4; ++i) EXPECT_FALSE(before.contains(tried_.allocate(1024).address));
    EXPECT_EQ(alive_.size(), 2);
}

TEST_F(an_arena, waits_for_work_where_no_block_can_be_had) {
    work_is_done_ = false;
    most_blocks_ = 1;
    std::uintptr_t last = 0;
    for (int i = 0; i != 4; ++i) last = tried_.allocate(1024).address;
    tried_.free(last, 1024, in_use);
    EXPECT_EQ(tried_.allocate(1024).address, last);
    EXPECT_THROW(tried_.allocate(1024), error);
}

/// Work that is not done in time, however often it is asked.
TEST_F(an_arena, gives_up_where_work_does_not_end) {
    struct endless final : fence::work {
        bool wait(std::chrono::nanoseconds timeout) override {
            std::this_thread::sleep_for(timeout);
            return ++times > 1000;
        }
        int times = 0;
    };
    most_blocks_ = 1;
    const std::set<std::uintptr_t> all = four();
    tried_.free(*all.begin(), 1024, in_use);
    tried_.begin_fence();
    tried_.end_fence(fence(std::make_shared<endless>()));
    EXPECT_THROW(tried_.allocate(1024), error);
}

TEST_F(an_arena, joins_what_was_freed_into_room_for_larger_ones) {
    most_blocks_ = 1;
    std::vector<std::uintptr_t> all;
    for (int i = 0; i != 64; ++i) all.push_back(tried_.allocate(64).address);
    for (std::size_t i = 0; i != 64; i += 2) tried_.free(all[i], 64, in_use);
    EXPECT_THROW(tried_.allocate(128), error) << "holes of 64 bytes, apart";
    for (std::size_t i = 1; i < 32; i += 2) tried_.free(all[i], 64, in_use);
    EXPECT_NO_THROW(tried_.allocate(1024));
}

TEST_F(an_arena, gives_back_blocks_that_nothing_is_left_in) {
    std::vector<std::uintptr_t> all;
    for (int i = 0; i != 12; ++i) all.push_back(tried_.allocate(1024).address);
    ASSERT_EQ(alive_.size(), 3);
    for (const std::uintptr_t each : all) {
        if (each != all[5]) tried_.free(each, 1024, in_use);
    }
    EXPECT_TRUE(tried_.trim());
    EXPECT_EQ(alive_, std::set<std::uintptr_t>{all[5] / small.block * small.block});
    EXPECT_FALSE(tried_.trim());
}

TEST_F(an_arena, keeps_no_more_than_one_empty_block_for_later) {
    std::vector<std::uintptr_t> all;
    for (int i = 0; i != 16; ++i) all.push_back(tried_.allocate(1024).address);
    for (const std::uintptr_t each : all) tried_.free(each, 1024, unused);
    tried_.allocate(64);
    EXPECT_EQ(alive_.size(), 1);
}

TEST_F(an_arena, marks_later_what_it_cannot_mark_now) {
    most_blocks_ = 1;
    may_mark_ = false;
    std::uintptr_t last = 0;
    for (int i = 0; i != 4; ++i) last = tried_.allocate(1024).address;
    tried_.free(last, 1024, in_use);
    EXPECT_THROW(tried_.allocate(1024), error);
    may_mark_ = true;
    EXPECT_EQ(tried_.allocate(1024).address, last);
}

TEST_F(an_arena, serves_threads) {
    std::atomic<bool> wrong = false;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t != 8; ++t) {
            threads.emplace_back([&] {
                for (std::size_t i = 0; i != 1000; ++i) {
                    const std::size_t bytes = 64 + i % 900;
                    const arena::place mine = tried_.allocate(bytes);
                    wrong = wrong || mine.address / small.block * small.block != mine.block;
                    tried_.free(mine.address, bytes, in_use);
                    if (i % 100 == 0) tried_.trim();
                }
            });
        }
    }
    EXPECT_FALSE(wrong);
    tried_.trim();
    EXPECT_EQ(tried_.used().bytes, 0);
    EXPECT_TRUE(alive_.empty());
}

TEST_F(an_arena, has_no_two_allocations_in_one_place) {
    struct live {
        std::uintptr_t begin;
        std::size_t bytes;
    };
    EXPECT_TRUE(rc::check([&] {
        std::vector<live> all;
        for (const auto& [bytes, which] :
             *rc::gen::container<std::vector<std::pair<std::size_t, std::size_t>>>(rc::gen::pair(
                 rc::gen::inRange<std::size_t>(1, small.largest + 1), rc::gen::arbitrary<std::size_t>()))) {
            work_is_done_ = which % 5 != 0;
            if (which % 3 == 0 && !all.empty()) {
                const auto gone = all.begin() + static_cast<std::ptrdiff_t>(which % all.size());
                tried_.free(gone->begin, gone->bytes, which % 2 == 0);
                all.erase(gone);
                continue;
            }
            const arena::place place = tried_.allocate(bytes);
            RC_ASSERT(place.block == place.address / small.block * small.block);
            const live made{place.address, bytes};
            RC_ASSERT(in_one_block(made.begin, made.bytes));
            RC_ASSERT(alive_.contains(made.begin / small.block * small.block));
            for (const live& each : all) {
                RC_ASSERT(made.begin + made.bytes <= each.begin || each.begin + each.bytes <= made.begin);
            }
            all.push_back(made);
        }
        for (const live& each : all) tried_.free(each.begin, each.bytes, in_use);
        work_is_done_ = true;
        tried_.trim();
        RC_ASSERT(alive_.empty());
        RC_ASSERT(tried_.used().bytes == 0U);
    }));
}

}  // namespace
}  // namespace unibuf::backends::arena_test
