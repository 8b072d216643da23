// tests/unit/eviction_rule_test.cpp: who has to stay, over random histories of many buffers on a device that is short.
//
// The documents say which copies stay: those that are leased, viewed, or out as a plain handle. All others can go, so
// that an access is refused only where those that stay leave no room for it.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cstdint>
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

}  // namespace
}  // namespace unibuf::test::eviction_rule_test
