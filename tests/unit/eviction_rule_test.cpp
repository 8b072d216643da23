// tests/unit/eviction_rule_test.cpp: who has to stay, over random histories of many buffers on a device that is short.
//
// The documents say which copies stay: those that are leased, viewed, or out as a plain handle. All others can go, so
// that an access is refused only where those that stay leave no room for it. Of those that can go, copies that are
// current elsewhere go first, and then those that were used least recently.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "unit/common.hpp"

namespace unibuf::test::eviction_rule_test {
namespace {

space gpu() { return space("debug:0"); }

enum class verb : std::uint8_t { use, lease, view, handle, write_by_pointer, fill, discard, let_go };
constexpr int verbs = 8;

struct step {
    verb does;
    std::uint8_t member;
};

class crowd {
public:
    explicit crowd(const std::vector<std::uint16_t>& sizes) {
        for (const std::uint16_t bytes : sizes) {
            all_.emplace_back(buffer(1 + bytes));
            fill(all_.back());
        }
    }

    void play(const step& next) {
        member& on = all_[next.member % all_.size()];
        try {
            act(on, next.does);
        } catch (const error& refusal) {
            if (refusal.code() != error_code::out_of_memory) return;
            RC_ASSERT(held_by_those_that_stay(on) + on.of.size_bytes() > memory_in(gpu()).limit);
        }
        RC_ASSERT(memory_in(gpu()).held <= memory_in(gpu()).limit);
    }

    void check_content() {
        for (member& each : all_) {
            let_go(each);
            RC_ASSERT(content(each.of) == of(each.of.size_bytes(), each.value));
        }
    }

private:
    struct member {
        explicit member(buffer made) : of(std::move(made)) {}

        buffer of;
        std::vector<lease<const std::byte>> leases{};
        std::vector<copy_view> views{};
        bool handle = false;
        unsigned char value = 0;
    };

    static void act(member& on, verb does) {
        constexpr access_options at_once{.timeout = std::chrono::nanoseconds::zero()};
        switch (does) {
            case verb::use:
                fill(on, on.of.write(gpu(), at_once));
                break;
            case verb::lease:
                on.leases.push_back(on.of.read(gpu(), at_once));
                break;
            case verb::view:
                on.views.push_back(on.of.copy_view(gpu()));
                break;
            case verb::handle:
                on.of.device();
                on.handle = true;
                break;
            case verb::write_by_pointer:
                if (on.leases.empty()) fill(on, std::span(on.of.host(), on.of.size_bytes()));
                break;
            case verb::fill:
                if (on.leases.empty()) fill(on);
                break;
            case verb::discard:
                on.of.discard(gpu());
                break;
            case verb::let_go:
                let_go(on);
                break;
        }
    }

    static void fill(member& on) {
        const std::array value{static_cast<std::byte>(on.value + 1)};
        on.of.fill(value);
        ++on.value;
    }
    template <class Bytes>
    static void fill(member& on, Bytes&& of_it) {
        std::ranges::fill(of_it, static_cast<std::byte>(++on.value));
    }

    static void let_go(member& on) {
        on.leases.clear();
        on.views.clear();
        on.of.release_device();
        on.of.release_host();
        on.handle = false;
    }

    std::uint64_t held_by_those_that_stay(const member& asking) const {
        std::uint64_t result = 0;
        for (const member& each : all_) {
            const bool stays = each.handle || !each.leases.empty() || !each.views.empty();
            if (&each != &asking && stays && has_copy(each.of, gpu())) result += each.of.size_bytes();
        }
        return result;
    }

    std::vector<member> all_;
};

TEST(eviction_rule, refuses_memory_only_where_those_that_stay_leave_no_room) {
    const default_device_is debug(gpu());
    EXPECT_TRUE(rc::check([] {
        const auto sizes =
            *rc::gen::container<std::vector<std::uint16_t>>(10, rc::gen::inRange<std::uint16_t>(0, 20000));
        const auto steps = *rc::gen::scale(
            4.0, rc::gen::container<std::vector<step>>(rc::gen::construct<step>(
                     rc::gen::cast<verb>(rc::gen::inRange(0, verbs)), rc::gen::inRange<std::uint8_t>(0, 10))));
        limit_memory(gpu(), *rc::gen::inRange<std::uint64_t>(20000, 80000));
        crowd played(sizes);
        for (const step& each : steps) played.play(each);
        limit_memory(gpu(), no_memory_limit);
        played.check_content();
    }));
    limit_memory(gpu(), no_memory_limit);
}

/// Buffers of one size on a device with room for a few of them, and who has to be there.
class line_up {
public:
    static constexpr std::size_t bytes = 100;
    static constexpr std::size_t most = 4;

    line_up() {
        for (member& each : all_) {
            each.of = buffer(bytes);
            each.of.fill(std::array{std::byte{1}});
        }
    }

    /// Reads or writes a buffer at the device, or has the host brought up to date.
    void use(std::size_t which, unsigned how) {
        member& used = all_[which % all_.size()];
        const bool at_device = how % 3 != 2;
        if (at_device && !used.is_there && count_there() == most) drop_first();
        if (how % 3 == 0) used.of.read(gpu()).release();
        if (how % 3 == 1) used.of.write(gpu()).release();
        if (!at_device) used.of.sync_to_host();
        used.newest_there = at_device && (how % 3 == 1 || used.newest_there);
        used.is_there = used.is_there || at_device;
        used.last_use = ++uses_;
        for (const member& each : all_) RC_ASSERT(has_copy(each.of, gpu()) == each.is_there);
    }

private:
    struct member {
        buffer of{0};
        bool is_there = false;
        bool newest_there = false;
        std::size_t last_use = 0;
    };

    std::ptrdiff_t count_there() const { return std::ranges::count_if(all_, &member::is_there); }

    void drop_first() {
        member* first = nullptr;
        for (member& each : all_) {
            if (each.is_there && (!first || order_of(each) < order_of(*first))) first = &each;
        }
        first->is_there = first->newest_there = false;
    }

    static std::pair<bool, std::size_t> order_of(const member& of) { return {of.newest_there, of.last_use}; }

    std::array<member, 10> all_;
    std::size_t uses_ = 0;
};

TEST(eviction_rule, drops_what_is_current_elsewhere_first_and_then_what_was_used_least_recently) {
    const default_device_is debug(gpu());
    EXPECT_TRUE(rc::check([] {
        const auto steps =
            *rc::gen::scale(4.0, rc::gen::arbitrary<std::vector<std::pair<std::uint8_t, std::uint8_t>>>());
        line_up played;
        limit_memory(gpu(), memory_in(gpu()).held + line_up::most * line_up::bytes);
        for (const auto& [which, how] : steps) played.use(which, how);
        limit_memory(gpu(), no_memory_limit);
    }));
    limit_memory(gpu(), no_memory_limit);
}

/// Work that is never done, and counts how often that is asked.
class counted_work final : public fence::work {
public:
    explicit counted_work(int& asked) : asked_(asked) {}
    bool wait(std::chrono::nanoseconds) override {
        ++asked_;
        return false;
    }

private:
    int& asked_;
};

TEST(eviction_rule, asks_work_that_has_kept_a_copy_no_more_while_others_can_go) {
    const default_device_is debug(gpu());
    int asked = 0;
    std::array busy{buffer(100), buffer(100), buffer(100)};
    for (buffer& each : busy) each.write(gpu()).release(fence(std::make_shared<counted_work>(asked)));
    std::array idle{buffer(100), buffer(100)};
    limit_memory(gpu(), memory_in(gpu()).held + 100);
    for (buffer& each : idle) each.fill(std::array{std::byte{1}});
    for (buffer& each : idle) each.read(gpu()).release();
    const int until_known = asked;
    for (int i = 0; i != 10; ++i) {
        for (buffer& each : idle) each.read(gpu()).release();
    }
    EXPECT_EQ(asked, until_known);
    for (const buffer& each : busy) EXPECT_TRUE(has_copy(each, gpu()));
    limit_memory(gpu(), no_memory_limit);
    for (buffer& each : busy) each.discard_content();
}

}  // namespace
}  // namespace unibuf::test::eviction_rule_test
