// tests/unit/copies_test.cpp: the copies of one buffer, what always holds of them, and how a space comes by its own.
#include "memory/copies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "backends/spaces.hpp"
#include "support/fake_device.hpp"
#include "support/faults.hpp"
#include "unit/common.hpp"

namespace unibuf::test::copies_test {
namespace {

using coherence::space_id;
using testing::HasSubstr;

constexpr std::size_t size = 64;

class rules_of_copies : public testing::Test {
protected:
    /// Returns a copy that uses memory which `lender` has allocated.
    detail::copy_list shared(space_id where, space_id lender) const {
        detail::copy_list made{.remarks = {}, .copies = std::forward_list<detail::copy>(1)};
        made.copies.front().where = where;
        made.copies.front().placed = placement::shared;
        made.copies.front().lender = lender;
        made.copies.front().memory = detail::held_memory(*memory);
        return made;
    }

    const std::unique_ptr<backends::memory> memory = backends::device_of(host).allocate({.bytes = size});
    const space_id first = space("debug:0").id();
    const space_id second = fake_device::get({.aliases = true}).where().id();
    detail::copies all{size, {}};
};

TEST_F(rules_of_copies, hold_for_one_that_uses_anothers_memory) {
    EXPECT_EQ(all.broken_rule(), nullptr);
    all.add(shared(coherence::host, first));  // that device has no copy any more
    EXPECT_EQ(all.broken_rule(), nullptr);
    all.add(shared(first, coherence::host));
    EXPECT_EQ(all.broken_rule(), nullptr);
}

TEST_F(rules_of_copies, want_the_memory_that_is_used) {
    all.add(shared(first, second));
    EXPECT_STREQ(all.broken_rule(), "a copy uses memory that is not there");
    all.add(shared(second, second));
    EXPECT_EQ(all.broken_rule(), nullptr);
}

TEST_F(rules_of_copies, want_one_copy_for_a_space) {
    all.add(shared(coherence::host, coherence::host));
    all.add(shared(coherence::host, coherence::host));
    EXPECT_STREQ(all.broken_rule(), "a space has two copies");
}

TEST_F(rules_of_copies, want_memory) {
    detail::copy_list made = shared(coherence::host, coherence::host);
    made.copies.front().memory = {};
    all.add(std::move(made));
    EXPECT_STREQ(all.broken_rule(), "a copy has no memory");
}

TEST(a_copy, in_the_hosts_memory_wants_whole_lines_of_it) {
    const space device = fake_device::get({.aliases = true}).where();
    alignas(64) std::array<std::byte, 128> memory{};
    for (const std::size_t count : {std::size_t{128}, std::size_t{100}}) {
        buffer b = buffer::over(std::span(memory).first(count), nullptr, {.hint = memory_hint::cpu_preferred});
        b.read(device).release();
        const placement_info found = b.placement(device);
        EXPECT_EQ(found.placement, count == 128 ? placement::shared : placement::mirrored);
        if (count == 128) continue;
        EXPECT_THAT(found.reason, HasSubstr("sharing failed: "));
        EXPECT_THAT(found.reason, HasSubstr("no whole lines"));
    }
}

TEST(a_copy, that_was_made_for_another_one_is_not_counted_where_that_fails) {
    const space device = fake_device::get({.aliases = true}).where();
    const std::uint64_t before = memory_in(host).held;
    buffer b(size, {.hint = memory_hint::cpu_preferred});
    limit_memory(device, 0);
    faults::all().arm(1, error_code::unsupported);  // the alias of the host's memory that was made for it
    EXPECT_EQ(failure_of([&] { b.read(device); }).code, error_code::out_of_memory);
    faults::all().disarm();
    limit_memory(device, no_memory_limit);
    EXPECT_FALSE(has_copy(b, host));
    EXPECT_EQ(memory_in(host).held, before);
}

}  // namespace
}  // namespace unibuf::test::copies_test
