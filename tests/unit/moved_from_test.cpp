// tests/unit/moved_from_test.cpp: a handle whose buffer is another's now.
#include <functional>
#include <utility>
#include <vector>

#include "unit/common.hpp"

namespace unibuf::test::moved_from_test {
namespace {

TEST(a_moved_from_buffer, has_no_size_and_no_id) {
    buffer b(10);
    const buffer taken = std::move(b);
    EXPECT_EQ(b.size_bytes(), 0u);
    EXPECT_EQ(b.id(), 0u);
    EXPECT_FALSE(b.is_only_handle());
    EXPECT_EQ(b.options().hint, memory_hint::none);
    EXPECT_FALSE(b.is_current_at(host));
    EXPECT_EQ(taken.size_bytes(), 10u);
}

TEST(a_moved_from_buffer, refuses_everything) {
    buffer b(10);
    put(b, of(10, 3));
    const buffer taken = std::move(b);
    bytes some(4);
    const std::vector<std::function<void()>> calls = {
        [&] { b.read(host); },
        [&] { b.write("debug:0"); },
        [&] { b.read_write(host, {.offset = 1}); },
        [&] { b.host(); },
        [&] { std::as_const(b).host(); },
        [&] { b.host_view(); },
        [&] { b.device(); },
        [&] { b.copy_view(host); },
        [&] { b.hold_copy(host); },
        [&] { b.view(0, 0); },
        [&] { b.release_host(); },
        [&] { b.release_device(); },
        [&] { b.sync_to_host(); },
        [&] { b.sync_to_device(); },
        [&] { b.mark_host_dirty(); },
        [&] { b.prefetch(host); },
        [&] { b.discard(host); },
        [&] { b.discard_content(); },
        [&] { b.fill({}); },
        [&] { b.fill(some); },
        [&] { b.copy_from(some); },
        [&] { b.copy_to(some); },
        [&] { b.state(); },
        [&] { b.statistics(); },
        [&] { b.ranges(); },
        [&] { b.placement(host); },
        [&] { lease_together(b.to_read(host)); },
        [&] { batch(host).sync(b); },
        [&] { get_memory_pool().release(std::move(b)); },
    };
    for (std::size_t i = 0; i < calls.size(); ++i) {
        EXPECT_EQ(failure_of(calls[i]).code, error_code::invalid_argument) << i;
    }
    EXPECT_TRUE(same(content(taken), of(10, 3)));
}

TEST(a_moved_from_buffer, may_be_assigned_to) {
    buffer b(10);
    buffer taken = std::move(b);
    b = buffer(20);
    put(b, of(20, 1));
    b = std::move(taken);
    EXPECT_EQ(b.size_bytes(), 10u);
    EXPECT_EQ(taken.size_bytes(), 0u);
}

TEST(a_moved_from_buffer, of_elements_has_none) {
    unified_buffer<int> b({3, 4});
    unified_buffer<int> taken = std::move(b);
    EXPECT_EQ(b.size(), 0u);
    EXPECT_EQ(b.shape().elements(), 0u);
    EXPECT_EQ(failure_of([&] { b.read(host); }).code, error_code::invalid_argument);
    EXPECT_EQ(taken.size(), 12u);
    b = std::move(taken);
    EXPECT_EQ(b.size(), 12u);
    EXPECT_EQ(taken.size(), 0u);
}

}  // namespace
}  // namespace unibuf::test::moved_from_test
