// tests/unit/callers_memory_test.cpp: buffers over memory that the program has.
#include <memory>
#include <numeric>
#include <vector>

#include "unit/common.hpp"

namespace unibuf::test {
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

TEST(callers_memory, is_neither_evicted_nor_discarded_while_the_program_may_write_it) {
    std::vector<std::byte> memory(5000, std::byte{1});
    buffer b = buffer::over(memory, nullptr);
    b.read("debug:0").release();
    EXPECT_EQ(failure_of([&] { b.discard(host); }).code, error_code::access_conflict);
    buffer empty = buffer::over({}, nullptr);
    EXPECT_EQ(empty.read("debug:0").size(), 0u);
}

}  // namespace
}  // namespace unibuf::test
