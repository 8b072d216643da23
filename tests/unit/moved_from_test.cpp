// tests/unit/moved_from_test.cpp: a handle whose buffer is another's now.
#include <functional>
#include <utility>
#include <vector>

#include "unit/common.hpp"

namespace unibuf::test::moved_from_test {
namespace {

/// Every handle that holds something lets go of it where another one is moved onto it.
TEST(a_handle_that_is_assigned_to, lets_go_at_once) {
    const space where("debug:0");
    const auto is_let_go = [&](const char* name, auto hold) {
        buffer first(8192);
        buffer second(8192);
        put(first, of(8192, 1));
        put(second, of(8192, 2));
        auto held = hold(first);
        auto other = hold(second);
        held = std::move(other);
        EXPECT_TRUE(first.is_only_handle()) << name;
        EXPECT_FALSE(first.is_bound()) << name;
        EXPECT_NO_THROW(first.discard(where)) << name;
        EXPECT_NO_THROW(first.read_write(host)) << name;
        EXPECT_EQ(failure_of([&] { second.discard(where); }).code, error_code::access_conflict) << name;
        auto& same = held;
        held = std::move(same);  // keeps what it holds
        EXPECT_EQ(failure_of([&] { second.discard(where); }).code, error_code::access_conflict) << name;
    };
    const auto bring = [&](buffer& of) { of.read(where).release(); };
    is_let_go("copy_view", [&](buffer& of) { return of.copy_view(where); });
    is_let_go("standing_hold", [&](buffer& of) { return of.bind(where, access::read); });
    is_let_go("lease", [&](buffer& of) { return of.read(where); });
    const auto is_free_of_views = [&] {
        buffer first(8192);
        buffer second(8192);
        bring(first);
        bring(second);
        auto held = first.host_view();
        held = second.host_view();
        EXPECT_TRUE(first.is_only_handle());
        bring(first);  // where writes are not found, the view's counted as made until now
        EXPECT_NO_THROW(first.discard(host));
        EXPECT_EQ(failure_of([&] { second.discard(host); }).code, error_code::access_conflict);
    };
    is_free_of_views();
}

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
