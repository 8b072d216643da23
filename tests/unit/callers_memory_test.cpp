// tests/unit/callers_memory_test.cpp: buffers over memory that the program has.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <ostream>
#include <thread>
#include <utility>
#include <vector>

#include "support/pages_for_reading.hpp"
#include "tracking/watch.hpp"
#include "unit/common.hpp"

namespace unibuf::test::callers_memory_test {
namespace {

TEST(callers_memory, is_the_hosts_copy_with_what_it_holds) {
    const space device("debug:0");
    const default_device_is device_is_default(device);
    for (const std::size_t count : {std::size_t{10}, std::size_t{10000}}) {
        auto numbers = std::make_shared<std::vector<int>>(count);
        std::iota(numbers->begin(), numbers->end(), 0);
        {
            auto b = unified_buffer<int>::over(*numbers, numbers);
            EXPECT_EQ(b.state(), buffer_state::host_dirty);
            EXPECT_EQ(b.host(), numbers->data());
            EXPECT_EQ(b.read(device)[5], 5);
            (*numbers)[5] = 50;  // nobody is told
            EXPECT_EQ(b.read(device)[5], 50);
            b.write(device)[7] = 70;
            EXPECT_EQ(b.read(host)[7], 70);
            EXPECT_EQ((*numbers)[7], 70);
            EXPECT_EQ(memory_in(host).held, count * sizeof(int));
        }
        EXPECT_EQ(numbers.use_count(), 1);
        EXPECT_EQ(memory_in(host).held, 0u);
    }
}

TEST(callers_memory, stays_as_long_as_the_copy) {
    auto numbers = std::make_shared<std::vector<int>>(100, 3);
    const std::weak_ptr<std::vector<int>> seen = numbers;
    const std::span<int> memory = *numbers;
    auto b = std::make_unique<unified_buffer<int>>(unified_buffer<int>::over(memory, std::move(numbers)));
    auto view = b->host_view();
    b.reset();
    EXPECT_EQ(view[99], 3);
    EXPECT_FALSE(seen.expired());
    view.release();
    EXPECT_TRUE(seen.expired());
}

TEST(callers_memory, is_that_of_a_buffer_like_any_other) {
    std::vector<std::byte> memory(5000);
    buffer b = buffer::over(memory, nullptr, {.hint = memory_hint::gpu_preferred});
    EXPECT_EQ(b.options().hint, memory_hint::gpu_preferred);
    EXPECT_TRUE(b.is_only_handle());
    {
        const buffer part = b.view(10, 20);
        EXPECT_FALSE(b.is_only_handle());
    }
    const copy_view held = b.copy_view(host);
    EXPECT_FALSE(b.is_only_handle());
}

TEST(callers_memory, of_no_bytes_is_a_buffer_of_none) {
    buffer empty = buffer::over({}, nullptr);
    EXPECT_EQ(empty.read("debug:0").size(), 0u);
}

TEST(callers_memory, for_reading_takes_whatever_is_for_reading) {
    const std::vector<int> numbers{1, 2, 3};
    const int array[] = {4, 5};
    std::vector<int> writable{6};
    const auto constant = [](const unified_buffer<int>& of) {
        return of.bytes().options().access == host_access::constant;
    };
    EXPECT_TRUE(constant(unified_buffer<int>::over(numbers, nullptr)));
    EXPECT_TRUE(constant(unified_buffer<int>::over(array, nullptr)));
    EXPECT_TRUE(constant(unified_buffer<int>::over(std::span<const int>(writable), nullptr)));
    EXPECT_TRUE(constant(unified_buffer<int>::over(std::as_const(writable), nullptr)));
    EXPECT_FALSE(constant(unified_buffer<int>::over(writable, nullptr)));
    EXPECT_FALSE(constant(unified_buffer<int>::over({writable.data(), 1}, nullptr)));
    static_assert(!detail::memory_for_reading<std::vector<int>, int>, "it would be gone at once");
    const auto b = unified_buffer<int>::over(numbers, nullptr);
    EXPECT_EQ(b.host(), numbers.data());
    EXPECT_EQ(b.read("debug:0")[2], 3);
}

TEST(callers_memory, that_nobody_can_write_is_refused_as_memory_to_write) {
    const pages_for_reading pages;
    const auto writable = [](std::span<const std::byte> of) {
        return std::span(const_cast<std::byte*>(of.data()), of.size());
    };
    const failure refused = failure_of([&] { buffer::over(writable(pages.all()), nullptr); });
    EXPECT_EQ(refused.code, error_code::invalid_argument);
    EXPECT_NE(refused.message.find("give them for reading"), std::string::npos) << refused.message;
    const buffer after = buffer::over(writable(pages.all()), nullptr, {.access = host_access::constant});
    EXPECT_EQ(std::as_const(after).host(), pages.all().data());
}

TEST(callers_memory, that_nobody_can_read_is_refused) {
    void* const at = ::mmap(nullptr, 5000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const std::span memory(static_cast<std::byte*>(at), 5000);
    for (const host_access access : {host_access::read_write, host_access::constant}) {
        const failure refused = failure_of([&] { buffer::over(memory, nullptr, {.access = access}); });
        EXPECT_EQ(refused.code, error_code::invalid_argument);
        EXPECT_NE(refused.message.find("lets nobody read all of them"), std::string::npos) << refused.message;
    }
    ::munmap(at, 5000);
}

/// To evict it would give nobody memory, and the program's stores there would be lost.
TEST(callers_memory, is_not_evicted) {
    const space device("debug:0");
    std::vector<std::byte> memory(1 << 20);
    for (const host_access access : {host_access::read_write, host_access::read_only, host_access::constant}) {
        buffer b = buffer::over(memory, nullptr, {.access = access, .hint = memory_hint::gpu_preferred});
        b.read(device).release();
        b.release_host();
        limit_memory(host, memory_in(host).held + 4096);
        buffer other(100'000);
        const failure refused = failure_of([&] { other.write(host); });
        EXPECT_EQ(refused.code, error_code::out_of_memory);
        const bool is_only_copy = access == host_access::read_write;  // a last look may find stores
        EXPECT_NE(refused.message.find(is_only_copy ? "the only copy" : "discard(host) gives back"), std::string::npos)
            << refused.message;
        limit_memory(host, no_memory_limit);
        memory[7] ^= std::byte{1};
        b.mark_host_dirty();
        EXPECT_EQ(b.read(device)[7], memory[7]);
    }
}

/// Whoever takes a pointer and releases it speaks of that pointer alone.
TEST(callers_memory, is_written_by_the_program_after_pointers_were_released) {
    const space device("debug:0");
    const auto helpers = std::to_array<std::function<void(buffer&)>>({
        [](buffer& of) { of.host(), of.release_host(); },
        [](buffer& of) {
            buffer part = of.view(0, 100);
            part.host(), part.release_host();
        },
        [](buffer& of) { std::as_const(of).host(), of.release_host(); },
        [](buffer& of) { of.host_view(0, 100).release(); },
        [](buffer& of) { of.copy_view(host).release(); },
        [](buffer& of) { of.io_view(access::read_write).release(); },
    });
    for (const auto& helper : helpers) {
        for (const std::size_t bytes : {std::size_t{600}, std::size_t{1} << 20}) {
            std::vector<std::byte> memory(bytes);
            buffer b = buffer::over(memory, nullptr);
            b.read(device).release();
            helper(b);
            for (const int value : {7, 8}) {
                b.read(device).release();
                memory[50] = memory[bytes - 1] = std::byte(value);
                const auto seen = b.read(device);
                EXPECT_EQ(seen[50], std::byte(value));
                EXPECT_EQ(seen[bytes - 1], std::byte(value));
            }
            if (!tracking::about().finds_writes) continue;
            b.write(device, {.count = 100}).release();
            memory[60] = std::byte{9};
            EXPECT_EQ(failure_of([&] { b.read(host); }).code, error_code::access_conflict);
            b.mark_host_dirty();
        }
    }
}

TEST(callers_memory, goes_back_with_what_the_program_wrote_last) {
    const space device("debug:0");
    for (const std::size_t bytes : {std::size_t{600}, std::size_t{1} << 20}) {
        std::vector<std::byte> memory(bytes);
        buffer b = buffer::over(memory, nullptr);
        EXPECT_EQ(failure_of([&] { b.discard(host); }).code, error_code::access_conflict);
        b.read(device).release();
        memory[50] = std::byte{7};
        {
            const auto view = b.host_view(0, 10);
            EXPECT_NE(failure_of([&] { b.discard(host); }).message.find("views"), std::string::npos);
        }
        const failure partly = failure_of([&] { b.view(0, 100).discard(host); });
        EXPECT_NE(partly.message.find("discard all of the copy"), std::string::npos) << partly.message;
        const failure shared = failure_of([&] { b.share("a name"); });
        EXPECT_NE(shared.message.find("memory of the program's own"), std::string::npos) << shared.message;
        memory[60] = std::byte{8};
        b.discard(host);
        memory.assign(bytes, std::byte{1});
        const auto seen = b.read(host);
        EXPECT_EQ(seen[50], std::byte{7});
        EXPECT_EQ(seen[60], std::byte{8});
        EXPECT_EQ(seen[61], std::byte{0});
    }
}

TEST(callers_memory, goes_back_after_a_conflict_with_what_the_device_has) {
    const space device("debug:0");
    std::vector<std::byte> memory(1 << 16, std::byte{1});
    buffer b = buffer::over(memory, nullptr);
    std::ranges::fill(b.read_write(device, {.count = 10}), std::byte{2});
    memory[5] = std::byte{3};
    b.discard(host);
    memory.assign(memory.size(), std::byte{9});
    const auto seen = b.read(host);
    EXPECT_NE(seen.data(), memory.data());
    EXPECT_EQ(seen[5], std::byte{2});
    EXPECT_EQ(seen[1000], std::byte{1});
}

TEST(callers_memory, goes_back_only_where_a_device_has_memory_of_its_own) {
    std::vector<std::byte> memory(1 << 16, std::byte{1});
    buffer b = buffer::over(memory, nullptr);
    b.read(host_as_device).release();
    EXPECT_EQ(failure_of([&] { b.discard(host); }).code, error_code::access_conflict);
    b.read("debug:0").release();
    b.discard(host);
    memory.assign(memory.size(), std::byte{9});
    EXPECT_EQ(b.read(host)[7], std::byte{1});
    EXPECT_EQ(b.read(host_as_device)[7], std::byte{1});
    b.discard(host);  // its own memory, as any buffer's
}

/// Work of a device, which the test ends.
class work_of_device final : public fence::work {
public:
    bool wait(std::chrono::nanoseconds timeout) override {
        if (timeout == std::chrono::nanoseconds(0)) return done;
        asked = true;
        asked.notify_all();
        done.wait(false);
        return true;
    }

    std::atomic<bool> asked = false;
    std::atomic<bool> done = false;
};

/// The program may write its memory until it has it back, also while that waits.
TEST(callers_memory, that_is_written_while_it_goes_back_is_sent_too) {
    if (!tracking::about().finds_writes) GTEST_SKIP() << tracking::about().description;
    const space device("debug:0");
    const auto work = std::make_shared<work_of_device>();
    std::vector<std::byte> memory(1 << 16, std::byte{1});
    buffer b = buffer::over(memory, nullptr);
    b.read(device).release(fence(work));
    {
        const std::jthread giver([&] { b.discard(host); });
        work->asked.wait(false);
        memory[7] = std::byte{7};
        work->done = true;
        work->done.notify_all();
    }
    EXPECT_EQ(b.read(host)[7], std::byte{7});
    EXPECT_NE(b.read(host).data(), memory.data());
}

TEST(callers_memory, for_reading_that_has_gone_back_is_written_by_nobody) {
    const std::vector<std::byte> memory(5000);
    const space device("debug:0");
    buffer b = buffer::over(memory, nullptr, {.hint = memory_hint::gpu_preferred});
    b.read(device).release();
    b.discard(host);
    b.read(host).release();
    EXPECT_EQ(failure_of([&] { b.mark_host_dirty(); }).code, error_code::invalid_argument);
    b.view(0, 0).copy_from({});  // writes no byte
}

TEST(callers_memory, for_reading_has_content_from_the_start) {
    EXPECT_EQ(failure_of([] { buffer(1, {.access = host_access::constant}); }).code, error_code::invalid_argument);
    memory_pool pool;
    EXPECT_EQ(failure_of([&] { pool.acquire(1, {.access = host_access::constant}); }).code,
              error_code::invalid_argument);
}

/// A look at the page that two buffers have a part of must not hide from one that it was written.
TEST(callers_memory, of_two_buffers_in_one_page_is_watched_for_both) {
    if (!tracking::about().finds_writes) GTEST_SKIP() << tracking::about().description;
    const space device("debug:0");
    constexpr std::size_t count = 1 << 18;
    std::vector<int> numbers(count, 1);
    const std::span<int> all(numbers);
    auto first = unified_buffer<int>::over(all.first(count / 2), nullptr);
    first.host();
    const std::size_t last = count / 2 - 1;
    {
        auto second = unified_buffer<int>::over(all.last(count / 2), nullptr);
        first.read(device).release();
        second.read(device).release();
        for (const int value : {7, 8, 9}) {
            numbers[last] = value;  // the two elements share a page
            numbers[last + 1] = value;
            EXPECT_EQ(first.read(device)[last], value);
            EXPECT_EQ(second.read(device)[0], value);
        }
    }
    numbers[last] = 10;
    numbers[1000] = 10;
    EXPECT_EQ(first.read(device)[last], 10);
    EXPECT_EQ(first.read(device)[1000], 10);
    EXPECT_TRUE(first.placement(host).writes_found) << "the end of one buffer ended the watch of the other";
}

/// One of two buffers would not know what a device has newer of the other.
TEST(callers_memory, is_that_of_one_buffer_at_a_time) {
    std::vector<int> numbers(5000, 1);
    const std::span<int> all(numbers);
    {
        auto middle = unified_buffer<int>::over(all.subspan(1000, 2000), nullptr);
        for (const auto& [offset, size] : {std::pair(1000, 2000), std::pair(0, 5000), std::pair(1500, 10),
                                           std::pair(0, 1001), std::pair(2999, 2001)}) {
            const auto refused = failure_of([&, offset = offset, size = size] {
                unified_buffer<int>::over(all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)),
                                          nullptr);
            });
            EXPECT_EQ(refused.code, error_code::invalid_argument) << offset << " " << size;
            EXPECT_NE(refused.message.find("buffer #" + std::to_string(middle.bytes().id())), std::string::npos)
                << refused.message;
        }
        const auto before = unified_buffer<int>::over(all.first(1000), nullptr);
        const auto behind = unified_buffer<int>::over(all.subspan(3000), nullptr);
        const auto nothing = unified_buffer<int>::over(all.subspan(2000, 0), nullptr);
        middle.write("debug:0")[7] = 5;
        EXPECT_EQ(middle.read(host)[7], 5);
    }
    const auto again = unified_buffer<int>::over(all, nullptr);
    EXPECT_EQ(again.read("debug:0")[1007], 5);
}

/// Nobody sees what another process writes, so such memory counts as written each time.
TEST(callers_memory, that_other_processes_map_is_not_watched) {
    constexpr std::size_t bytes_mapped = 16 * 4096;
    void* const mapped = ::mmap(nullptr, bytes_mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    const std::span memory(static_cast<std::byte*>(mapped), bytes_mapped);
    const space device("debug:0");
    for (const std::size_t cut : {std::size_t{0}, std::size_t{100}}) {
        const buffer b = buffer::over(memory.subspan(cut), nullptr, {.hint = memory_hint::gpu_preferred});
        b.read(device).release();
        b.read(device).release();
        EXPECT_FALSE(b.placement(host).writes_found);
        const pid_t other = ::fork();
        if (other == 0) {
            memory[5000] = static_cast<std::byte>(cut + 1);
            ::_exit(0);
        }
        ::waitpid(other, nullptr, 0);
        EXPECT_EQ(b.read(device)[5000 - cut], static_cast<std::byte>(cut + 1));
    }
    ::munmap(mapped, bytes_mapped);
}

/// Memory that begins and ends anywhere, with others' bytes before and behind it in the same pages.
struct place {
    std::size_t offset;
    std::size_t count;

    friend void PrintTo(const place& of, std::ostream* out) { *out << of.count << " bytes at " << of.offset; }
};

class callers_memory_anywhere : public testing::TestWithParam<place> {
protected:
    static constexpr std::size_t page = 4096;
    static constexpr std::size_t most_for_a_byte = 2 * page;

    void SetUp() override {
        if (count_ >= page && !tracking::about().finds_writes) GTEST_SKIP() << tracking::about().description;
        std::iota(words_.begin(), words_.end(), 1);
        b_.read(device_).release();
        EXPECT_TRUE(b_.placement(host).writes_found);
        moved();
    }

    std::size_t moved() {
        const std::size_t before = std::exchange(moved_, b_.statistics().bytes_moved());
        return moved_ - before;
    }

    void expect_device_has_all() const {
        const auto there = b_.read(device_);
        EXPECT_TRUE(std::ranges::equal(there, memory_));
    }

    const std::size_t count_ = GetParam().count;
    std::vector<unsigned> words_ = std::vector<unsigned>((count_ + 4 * page) / sizeof(unsigned));
    const std::span<std::byte> around_ = std::as_writable_bytes(std::span(words_));
    const std::size_t before_ = page - reinterpret_cast<std::uintptr_t>(around_.data()) % page + GetParam().offset;
    const std::span<std::byte> memory_ = around_.subspan(before_, count_);
    const space device_{"debug:0"};
    buffer b_ = buffer::over(memory_, nullptr, {.hint = memory_hint::gpu_preferred});
    std::size_t moved_ = 0;
};

TEST_P(callers_memory_anywhere, moves_nothing_while_nobody_writes_it) {
    for (int i = 0; i != 3; ++i) {
        around_[before_ - 1] ^= std::byte{0xFF};
        around_[before_ + count_] ^= std::byte{0xFF};
        b_.read(device_).release();
        b_.read(host).release();
    }
    EXPECT_EQ(moved(), 0u);
}

TEST_P(callers_memory_anywhere, moves_what_was_written) {
    for (const std::size_t at : {std::size_t{0}, count_ / 2, count_ - 1}) {
        memory_[at] ^= std::byte{0xFF};
        expect_device_has_all();
        EXPECT_GT(moved(), 0u);
        memory_[at] ^= std::byte{0x0F};
        expect_device_has_all();
        EXPECT_LE(moved(), most_for_a_byte);
    }
    std::ranges::fill(memory_, std::byte{3});
    expect_device_has_all();
}

TEST_P(callers_memory_anywhere, takes_what_a_device_wrote) {
    const auto fill = [&](std::byte value) { std::ranges::fill(b_.write(device_), value); };
    fill(std::byte{5});
    b_.sync_to_host();
    EXPECT_TRUE(std::ranges::all_of(memory_, [](std::byte each) { return each == std::byte{5}; }));
    moved();
    b_.read(device_).release();
    EXPECT_EQ(moved(), 0u) << "what unibuf writes is no write of the program";
    b_.write(device_, {.offset = 1, .count = count_ - 2}).release();
    memory_[0] = std::byte{6};
    memory_[count_ - 1] = std::byte{7};
    EXPECT_EQ(b_.read(device_)[0], std::byte{6});
    EXPECT_EQ(b_.read(device_)[count_ - 1], std::byte{7});
}

TEST_P(callers_memory_anywhere, tells_of_lost_updates) {
    for (const std::size_t at : {std::size_t{0}, count_ / 2, count_ - 1}) {
        b_.read_write(device_).release();
        memory_[at] ^= std::byte{0xFF};
        EXPECT_EQ(failure_of([&] { b_.read(host); }).code, error_code::access_conflict) << at;
        b_.mark_host_dirty();
        expect_device_has_all();
    }
}

INSTANTIATE_TEST_SUITE_P(places, callers_memory_anywhere,
                         testing::Values(place{0, 100}, place{1, 100}, place{0, 4096}, place{1, 5000}, place{17, 16385},
                                         place{4095, 16386}, place{0, 20000}, place{64, 20480}, place{4000, 4200000}));

}  // namespace
}  // namespace unibuf::test::callers_memory_test
