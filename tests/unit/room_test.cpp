// tests/unit/room_test.cpp: room where another buffer's copy could go, and something comes in between.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "memory/limits.hpp"
#include "memory/usage.hpp"
#include "unibuf/statistics.hpp"
#include "unibuf/unibuf.hpp"

namespace unibuf::test::room_test {
namespace {

constexpr std::uint64_t bytes = 100;

/// A copy that can be had when it is asked for the second time.
class hesitant final : public detail::resident {
public:
    enum class kind { is_taken, is_dying };
    explicit hesitant(kind first) : first_(first) {}

    bool look(coherence::space_set, departures& to) override {
        to.push_back({.where = space("debug:0")});
        return true;
    }
    bool ask_to_let_go(space) override { return true; }
    bool add_handle_if_alive() noexcept override { return first_ == kind::is_taken || asked_++ > 0; }
    void give_handle_back() noexcept override {}
    std::uint64_t evict(space where, const detail::wait_limit&) override {
        if (first_ == kind::is_taken && asked_++ == 0) return 0;
        detail::remove_memory(where, bytes);
        return bytes;
    }

private:
    kind first_;
    int asked_ = 0;
};

void finds_room_beside(hesitant::kind kind) {
    const space gpu("debug:0");
    const std::uint64_t before = memory_in(gpu).held;
    limit_memory(gpu, before + bytes);
    ASSERT_TRUE(detail::reserve_memory(gpu, bytes));
    hesitant other(kind);
    hesitant asking(kind);
    const auto place = detail::residents::instance().add(other);
    EXPECT_NO_THROW(detail::room(asking, gpu, bytes, {}));
    detail::residents::instance().remove(place);
    limit_memory(gpu, no_memory_limit);
    EXPECT_EQ(memory_in(gpu).held, before);
}

TEST(room, is_looked_for_again_where_a_copy_was_taken_in_between) { finds_room_beside(hesitant::kind::is_taken); }

/// Has copies at debug:0 and at the host, and counts who asks.
class counted final : public detail::resident {
public:
    bool look(coherence::space_set at, departures& to) override {
        ++looks;
        for (const space each : {space("debug:0"), host}) {
            if (coherence::has(at, each.id())) to.push_back({.where = each, .bytes = bytes, .used = used});
        }
        return true;
    }
    bool ask_to_let_go(space) override { return true; }
    bool add_handle_if_alive() noexcept override { return true; }
    void give_handle_back() noexcept override {}
    std::uint64_t evict(space, const detail::wait_limit&) override {
        ++evictions;
        return bytes;
    }

    int evictions = 0;
    std::uint64_t used = 0;
    int looks = 0;
};

TEST(room, is_made_at_a_space_that_lacks_it_for_the_first_time_by_those_that_are_listed_there_then) {
    detail::residents all;
    std::array<counted, 3> each;
    std::vector<detail::residents::place> places;
    for (counted& one : each) {
        places.push_back(all.add(one));
        one.used = places.back()->used;
    }
    EXPECT_EQ(all.make_room(space("debug:0"), bytes, {}).freed, bytes);
    EXPECT_EQ(all.make_room(space("debug:0"), bytes, {}).freed, bytes);
    for (const counted& one : each) EXPECT_EQ(one.looks, 1);
    EXPECT_EQ(all.make_room(host, bytes, {}).freed, bytes);
    EXPECT_EQ(all.make_room(host, bytes, {}).freed, bytes);
    for (const counted& one : each) EXPECT_EQ(one.looks, 2) << "all were asked, not those that are listed";
    EXPECT_EQ(each[0].evictions, 4);
    detail::use_now(each[0].used);  // one that has changed comes behind the others, at both spaces
    all.note_change(places[0]);
    EXPECT_EQ(all.make_room(space("debug:0"), bytes, {}).freed, bytes);
    EXPECT_EQ(all.make_room(host, bytes, {}).freed, bytes);
    EXPECT_EQ(each[0].looks, 3);
    EXPECT_EQ(each[1].looks, 2);
    EXPECT_EQ(each[1].evictions, 2);
}

TEST(room, is_looked_for_again_where_a_buffer_is_on_its_way_out) { finds_room_beside(hesitant::kind::is_dying); }

}  // namespace
}  // namespace unibuf::test::room_test
