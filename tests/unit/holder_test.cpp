// tests/unit/holder_test.cpp: holders of views that are in the way are asked to let go.
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "unit/common.hpp"

namespace unibuf::test::holder_test {
namespace {

constexpr std::size_t size = 16 << 10;

/// Holds one view, and lets go of it where nobody uses it.
template <class View>
class cache {
public:
    explicit cache(View view) : state_(std::make_shared<state>()) {
        view.held_by({let_go, state_});
        state_->view.emplace(std::move(view));
    }
    ~cache() { drop(); }
    cache(const cache&) = delete;
    cache& operator=(const cache&) = delete;

    bool has() const { return state_->view.has_value(); }
    int asked() const { return state_->asked; }
    void drop() { state_->view.reset(); }
    View& view() { return *state_->view; }

    void use(bool now) { state_->used = now; }

private:
    struct state {
        std::optional<View> view;
        bool used = false;
        int asked = 0;
    };

    static void let_go(void* context) noexcept {
        state& of = *static_cast<state*>(context);
        ++of.asked;
        if (!of.used) of.view.reset();
    }

    std::shared_ptr<state> state_;
};

using copy_cache = cache<copy_view>;
using host_cache = cache<host_view<std::byte>>;

class a_holder : public testing::Test {
protected:
    ~a_holder() override {
        limit_memory(device, no_memory_limit);
        limit_memory(host, no_memory_limit);
    }

    void write(buffer& to, unsigned char value) const { put(to, of(to.size_bytes(), value), device); }

    bool there(const buffer& of) const { return has_copy(of, device); }

    const space device{"debug:0"};
};

TEST_F(a_holder, is_not_asked_for_what_lies_between_the_rows_of_an_access) {
    buffer square(16 * 16);
    put(square, of(16 * 16, 1));
    host_cache between(square.host_view(4, 8));
    const slice all[]{{0, 16}, {0, 4}};
    buffer column = square.view(shape{16, 16}, 1, all);
    column.write(device).release();
    EXPECT_EQ(between.asked(), 0);
    square.view(0, 8).write(device).release();
    EXPECT_EQ(between.asked(), 1);
}

TEST_F(a_holder, lets_go_where_memory_is_short) {
    buffer first(size), second(size);
    write(first, 1);
    copy_cache shown(first.copy_view(device));
    limit_memory(device, 0);
    EXPECT_FALSE(shown.has() || there(first));
    limit_memory(device, size);
    write(first, 2);
    copy_cache again(first.copy_view(device));
    write(second, 3);
    EXPECT_TRUE(!again.has() && !there(first) && there(second));
    EXPECT_EQ(content(first), of(size, 2));
    EXPECT_EQ(again.asked(), 1);
}

TEST_F(a_holder, who_refuses_keeps_the_copy) {
    buffer first(size), second(size);
    write(first, 1);
    copy_cache shown(first.copy_view(device));
    shown.use(true);
    limit_memory(device, size);
    const failure refused = failure_of([&] { write(second, 2); });
    EXPECT_EQ(refused.code, error_code::out_of_memory);
    EXPECT_NE(refused.message.find("1 copies there have to stay"), std::string::npos) << refused.message;
    EXPECT_TRUE(shown.has() && there(first));
    EXPECT_GT(shown.asked(), 0);
    shown.use(false);
    write(second, 2);
    EXPECT_FALSE(shown.has() || there(first));
}

TEST_F(a_holder, is_asked_when_it_is_its_turn) {
    buffer oldest(size), second(size), third(size);
    write(oldest, 1);
    write(second, 2);
    copy_cache newer(second.copy_view(device));
    limit_memory(device, 2 * size);
    write(third, 3);
    EXPECT_TRUE(!there(oldest) && there(second) && there(third));
    EXPECT_EQ(newer.asked(), 0);
}

TEST_F(a_holder, who_refuses_is_asked_after_all_others_the_next_time) {
    buffer used(size), second(size), third(size), fourth(size), fifth(size);
    write(used, 1);
    copy_cache shown(used.copy_view(device));
    shown.use(true);
    write(second, 2);
    write(third, 3);
    limit_memory(device, 3 * size);
    write(fourth, 4);
    EXPECT_TRUE(there(used) && !there(second) && there(third));
    EXPECT_EQ(shown.asked(), 1);
    write(fifth, 5);
    EXPECT_TRUE(there(used) && !there(third));
    EXPECT_EQ(shown.asked(), 1);
}

TEST_F(a_holder, is_of_no_use_where_others_stay) {
    buffer first(size), second(size);
    write(first, 1);
    copy_cache shown(first.copy_view(device));
    std::optional<copy_view> unnamed(first.copy_view(device));
    limit_memory(device, size);
    EXPECT_EQ(failure_of([&] { write(second, 2); }).code, error_code::out_of_memory);
    EXPECT_TRUE(there(first));
    unnamed.reset();
    {
        copy_cache with_a_handle(first.copy_view(device));
        const default_device_is now(device);
        first.device();
        EXPECT_EQ(failure_of([&] { write(second, 2); }).code, error_code::out_of_memory);
        EXPECT_EQ(with_a_handle.asked(), 0);
        first.release_device();
    }
    write(second, 2);
    EXPECT_FALSE(there(first));
}

TEST_F(a_holder, lets_a_copy_be_discarded) {
    buffer first(size);
    content(first);
    write(first, 1);
    content(first);
    copy_cache shown(first.copy_view(device));
    shown.use(true);
    EXPECT_EQ(failure_of([&] { first.discard(device); }).code, error_code::access_conflict);
    shown.use(false);
    first.discard(device);
    EXPECT_FALSE(shown.has() || there(first));
    EXPECT_EQ(content(first), of(size, 1));
}

TEST_F(a_holder, lets_the_copy_at_the_host_be_discarded_with_what_was_written_there) {
    buffer first(size);
    write(first, 1);
    host_cache shown(first.host_view());
    shown.view()[3] = std::byte{7};
    first.prefetch(device);
    content(first, device);
    first.discard(host);
    EXPECT_FALSE(shown.has());
    EXPECT_EQ(content(first)[3], std::byte{7});
}

TEST_F(a_holder, lets_the_content_be_discarded_in_its_range_only) {
    buffer first(size);
    host_cache low(first.host_view(0, size / 2)), high(first.host_view(size / 2, size / 2));
    low.view()[0] = high.view()[0] = std::byte{1};
    first.view(0, size / 2).discard_content();
    EXPECT_TRUE(!low.has() && high.has());
    EXPECT_EQ(content(first)[0], std::byte{0});
    EXPECT_EQ(content(first)[size / 2], std::byte{1});
}

TEST_F(a_holder, of_what_the_host_may_write_is_asked_by_accesses_elsewhere) {
    for (const write_tracking tracking : {write_tracking::automatic, write_tracking::off}) {
        buffer first(size, {.tracking = tracking});
        host_cache low(first.host_view(0, size / 2)), high(first.host_view(size / 2, size / 2));
        low.view()[0] = high.view()[0] = std::byte{1};
        content(first);
        EXPECT_EQ(low.asked() + high.asked(), 0);
        buffer low_half = first.view(0, size / 2);
        put(low_half, of(size / 2, 2), device);
        EXPECT_TRUE(!low.has() && high.has());
        EXPECT_EQ(content(first)[0], std::byte{2});
        high.use(true);
        content(first, device);
        EXPECT_TRUE(high.has() && high.asked() == 1);
        high.view()[0] = std::byte{7};
        EXPECT_EQ(content(first, device)[size / 2], std::byte{7});
        high.use(false);
        content(first, device);
        EXPECT_FALSE(high.has());
        const std::uint64_t moved = first.statistics().bytes_moved();
        content(first, device);
        EXPECT_EQ(first.statistics().bytes_moved(), moved);
    }
}

TEST_F(a_holder, lets_a_buffer_be_shared) {
    buffer first(size);
    write(first, 1);
    copy_cache shown(first.copy_view(device));
    host_cache written(first.host_view());
    written.view()[0] = std::byte{5};
    first.share();
    EXPECT_FALSE(shown.has() || written.has());
    EXPECT_EQ(content(first)[0], std::byte{5});
    EXPECT_EQ(content(first)[1], std::byte{1});
}

TEST_F(a_holder, lets_a_buffer_be_given_out_by_its_pool_again) {
    memory_pool pool;
    buffer first = pool.acquire(size);
    const std::uint64_t id = first.id();
    write(first, 1);
    copy_cache shown(first.copy_view(device));
    pool.release(std::move(first));
    EXPECT_FALSE(shown.has());
    EXPECT_EQ(pool.acquire(size).id(), id);
}

TEST_F(a_holder, may_take_the_last_of_a_buffer_along) {
    limit_memory(device, size);
    buffer second(size);
    const auto held = memory_in(device).held;
    std::optional<copy_cache> shown;
    {
        buffer first(size);
        write(first, 1);
        shown.emplace(first.copy_view(device));
    }
    write(second, 2);
    EXPECT_FALSE(shown->has());
    EXPECT_EQ(memory_in(device).held, held + size);
}

TEST_F(a_holder, ends_with_its_view_which_may_move_and_be_given_another) {
    buffer first(size), second(size);
    write(first, 1);
    const auto context = std::make_shared<int>(0);
    const auto count = +[](void* calls) noexcept { ++*static_cast<int*>(calls); };
    copy_view view = first.copy_view(device);
    view.held_by({count, context});
    copy_view moved(std::move(view));
    EXPECT_EQ(context.use_count(), 2);
    const auto other = std::make_shared<int>(0);
    moved.held_by({count, other});
    EXPECT_EQ(context.use_count(), 1);
    EXPECT_EQ(failure_of([&] { first.discard(device); }).code, error_code::access_conflict);
    EXPECT_TRUE(*context == 0 && *other == 1);
    moved.held_by({});
    EXPECT_EQ(other.use_count(), 1);
    moved.held_by({count, other});
    moved.release();
    EXPECT_EQ(other.use_count(), 1);
    EXPECT_EQ(failure_of([&] { moved.held_by({count, other}); }).code, error_code::invalid_argument);
}

TEST_F(a_holder, is_asked_with_no_lock_held) {
    buffer first(size), second(size);
    write(first, 1);
    struct looks {
        buffer& asked;
        buffer& in_need;
        space device;
        std::optional<copy_view> view{};
        error_code refused{};
    };
    const auto at = std::make_shared<looks>(looks{first, second, device});
    at->view.emplace(first.copy_view(device));
    at->view->held_by({+[](void* context) noexcept {
                           auto& of = *static_cast<looks*>(context);
                           // Another thread makes these calls, and would wait for a lock that this one had.
                           std::thread([&] { of.asked.state(), of.in_need.state(), content(of.asked); }).join();
                           of.refused = failure_of([&] { of.in_need.read(of.device); }).code;
                           of.view.reset();
                       },
                       at});
    limit_memory(device, size);
    write(second, 2);
    EXPECT_FALSE(at->view || there(first));
    EXPECT_EQ(at->refused, error_code::access_conflict);
    EXPECT_EQ(content(first), of(size, 1));
}

TEST_F(a_holder, may_end_its_view_while_it_is_asked_by_another_thread) {
    buffer first(size), second(size);
    write(first, 1);
    struct meeting {
        std::latch asked{1}, ended{1};
    };
    auto both = std::make_shared<meeting>();
    const std::weak_ptr<meeting> left = both;
    copy_view view = first.copy_view(device);
    view.held_by({+[](void* context) noexcept {
                      auto& of = *static_cast<meeting*>(context);
                      of.asked.count_down();
                      of.ended.wait();
                  },
                  both});
    limit_memory(device, size);
    std::thread in_need([&] { write(second, 2); });
    both->asked.wait();
    view.release();
    EXPECT_EQ(left.use_count(), 2);  // the call that is under way has one
    both->ended.count_down();
    both.reset();
    in_need.join();
    EXPECT_TRUE(left.expired());
    EXPECT_FALSE(there(first));
}

/// A holder that needs memory to let go is not asked for it within its own call.
TEST_F(a_holder, is_not_asked_again_inside_itself) {
    struct greedy {
        std::optional<copy_view> view;
        int asked = 0;
        error_code refused{};
    };
    const auto kept = std::make_shared<greedy>();
    buffer first(size), second(size);
    write(first, 1);
    copy_view shown = first.copy_view(device);
    shown.held_by({[](void* context) noexcept {
                       greedy& of = *static_cast<greedy*>(context);
                       if (++of.asked > 10) return;
                       try {
                           buffer more(size);
                           put(more, test::of(size, 9), space("debug:0"));
                       } catch (const error& failure) {
                           of.refused = failure.code();
                       }
                       of.view.reset();
                   },
                   kept});
    kept->view.emplace(std::move(shown));
    limit_memory(device, size);
    write(second, 2);
    EXPECT_EQ(kept->asked, 1);
    EXPECT_EQ(kept->refused, error_code::out_of_memory);
    EXPECT_FALSE(there(first));
    EXPECT_EQ(content(first), of(size, 1));
}

/// A holder accesses the buffer elsewhere while it is asked, for which the next holder is asked, too, and lets go.
TEST_F(a_holder, who_has_let_go_meanwhile_is_not_asked_again) {
    struct user {
        buffer& of;
        std::optional<host_view<std::byte>> view{};
        int asked = 0;
    };
    buffer both(size);
    const auto reader = std::make_shared<user>(user{both});
    host_view<std::byte> low = both.host_view(0, size / 2);
    low.held_by({[](void* context) noexcept {
                     user& of = *static_cast<user*>(context);
                     ++of.asked;
                     content(of.of, space("debug:0"));
                     of.view.reset();
                 },
                 reader});
    reader->view.emplace(std::move(low));
    host_cache high(both.host_view(size / 2, size / 2));
    content(both, device);
    EXPECT_EQ(reader->asked, 1);
    EXPECT_EQ(high.asked(), 1);
    EXPECT_FALSE(reader->view || high.has());
}

}  // namespace
}  // namespace unibuf::test::holder_test
