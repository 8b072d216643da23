// tests/unit/state_test.cpp: the table of states.
#include "coherence/state.hpp"

#include <gtest/gtest.h>

#include "coherence/transitions.hpp"

namespace unibuf::coherence::state_test {
namespace {

constexpr space_id device = 2;
constexpr space_id other = 3;
constexpr space_set on_host = set_of(host);
constexpr space_set on_device = set_of(device);

class state_of_a_buffer : public testing::Test {
protected:
    void moved(byte_range range, space_id from, space_id to) {
        complete(known, {}, {.does = step::kind::move, .part = range, .from = from, .to = to});
    }
    buffer_state with(space_set allocated) const { return state_of(known, allocated); }

    directory known{100};
    const byte_range all{0, 100};
    const byte_range half{0, 50};
};

TEST_F(state_of_a_buffer, without_a_copy) { EXPECT_EQ(with(0), buffer_state::uninitialized); }

TEST_F(state_of_a_buffer, with_one_copy_that_nobody_has_written) {
    EXPECT_EQ(with(on_host), buffer_state::host_only);
    EXPECT_EQ(with(on_device), buffer_state::device_only);
}

TEST_F(state_of_a_buffer, with_one_copy_that_was_written) {
    wrote(known, half, host);
    EXPECT_EQ(with(on_host), buffer_state::host_dirty);
    known = directory(100);
    wrote(known, half, device);
    EXPECT_EQ(with(on_device), buffer_state::device_dirty);
}

TEST_F(state_of_a_buffer, in_step) {
    wrote(known, all, host);
    moved(all, host, device);
    EXPECT_EQ(with(on_host | on_device), buffer_state::synchronized);
    drop(known, all, device);
    EXPECT_EQ(with(on_host), buffer_state::host_only) << "nothing was written since the last step";
}

TEST_F(state_of_a_buffer, with_one_side_behind) {
    wrote(known, all, host);
    EXPECT_EQ(with(on_host | on_device), buffer_state::host_dirty);
    moved(all, host, device);
    wrote(known, half, device);
    EXPECT_EQ(with(on_host | on_device), buffer_state::device_dirty);
    moved(half, device, host);
    EXPECT_EQ(with(on_host | on_device), buffer_state::synchronized);
    wrote(known, half, host);
    EXPECT_EQ(with(on_host | on_device), buffer_state::host_dirty);
}

TEST_F(state_of_a_buffer, with_both_sides_behind) {
    wrote(known, all, host);
    wrote(known, half, device);
    EXPECT_EQ(with(on_host | on_device), buffer_state::mixed);
}

TEST_F(state_of_a_buffer, needs_one_device_that_has_all) {
    wrote(known, all, host);
    moved(half, host, device);
    moved({50, 100}, host, other);
    EXPECT_EQ(with(on_host | on_device | set_of(other)), buffer_state::host_dirty);
}

TEST_F(state_of_a_buffer, counts_what_is_assumed_as_written) {
    wrote(known, all, host);
    moved(all, host, device);
    expose(known, half, pointers::watched);
    EXPECT_EQ(with(on_host | on_device), buffer_state::synchronized);
    expose(known, half, pointers::assumed);
    EXPECT_EQ(with(on_host | on_device), buffer_state::host_dirty);
}

TEST_F(state_of_a_buffer, is_mixed_where_two_versions_are_newest) {
    wrote(known, all, host);
    expose(known, half, pointers::watched);
    wrote(known, all, device);
    EXPECT_EQ(with(on_host | on_device), buffer_state::device_dirty);
    found_host_writes(known, half);
    EXPECT_EQ(with(on_host | on_device), buffer_state::mixed);
}

TEST_F(state_of_a_buffer, breaks_no_rule_unnoticed) {
    EXPECT_EQ(broken_rule(known, on_host), nullptr);
    wrote(known, half, device);
    EXPECT_NE(broken_rule(known, on_host), nullptr) << "current without a copy";
    known.update(half, [](knowledge& k) { k.current = 0; });
    EXPECT_NE(broken_rule(known, on_host | on_device), nullptr) << "content nowhere";
    known.update(half, [](knowledge& k) { k.current = on_host | on_device; });
    EXPECT_NE(broken_rule(known, on_host | on_device), nullptr) << "written by two";
    known.update(half, [](knowledge& k) { k = {.current = on_device, .what = content::written, .contested = true}; });
    EXPECT_NE(broken_rule(known, on_host | on_device), nullptr) << "contested without a pointer";
    known.update(half, [](knowledge& k) { k = {.lost = true}; });
    EXPECT_NE(broken_rule(known, on_host | on_device), nullptr) << "lost, and nobody wrote it";
    known.update(
        half, [](knowledge& k) { k = {.current = on_device, .what = content::written, .open = true, .lost = true}; });
    EXPECT_NE(broken_rule(known, on_host | on_device), nullptr) << "lost, and open";
}

}  // namespace
}  // namespace unibuf::coherence::state_test
