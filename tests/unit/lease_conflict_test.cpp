// tests/unit/lease_conflict_test.cpp: leases that exclude each other: what is said, and that nothing changes.
#include <functional>
#include <thread>

#include "unit/common.hpp"

namespace unibuf::test::lease_conflict_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t size = 1000;

class conflicting_leases : public testing::Test {
protected:
    void SetUp() override {
        put(b, noise(size));
        b.sync_to_device();
    }

    void expect_words(const failure& got, const std::vector<std::string>& words) const {
        const std::string name = "buffer #" + std::to_string(b.id()) + " (1000 bytes)";
        EXPECT_EQ(got.message.find(name), 0u) << got.message;
        for (const std::string& word : words) {
            EXPECT_NE(got.message.find(word), std::string::npos) << "no '" << word << "' in: " << got.message;
        }
    }

    const space device{"debug:0"};
    const default_device_is device_is_default{device};
    buffer b{size};
};

TEST_F(conflicting_leases, of_one_thread_are_both_named) {
    struct row {
        space held_at;
        access_options held;
        space asked_at;
        access_options asked;
        std::vector<std::string> says;
    };
    const access_options whole;
    for (const auto& [held_at, held, asked_at, asked, says] :
         std::vector<row>{{host,
                           whole,
                           host,
                           whole,
                           {"a read lease of bytes [0, 1000) at host", "a write lease of bytes [0, 1000) at host"}},
                          {host,
                           {.offset = 10, .count = 20},
                           device,
                           {.offset = 29, .count = 5},
                           {"a read lease of bytes [29, 34) at debug:0", "a write lease of bytes [10, 30) at host"}},
                          {device,
                           {.offset = 0, .count = 1},
                           host,
                           whole,
                           {"a read lease of bytes [0, 1000) at host", "a write lease of bytes [0, 1) at debug:0"}}}) {
        const auto kept = b.write(held_at, held);
        const failure got = failure_of([&, &where = asked_at, &what = asked] { b.read(where, what); });
        EXPECT_EQ(got.code, error_code::access_conflict);
        expect_words(got, says);
        expect_words(got, {"same thread", "end that one first"});
        EXPECT_TRUE(kept);
    }
    const auto reading = b.read(device, {.offset = 3, .count = 4});
    expect_words(failure_of([&] { b.read_write(host); }),
                 {"a read-write lease of bytes [0, 1000) at host", "a read lease of bytes [3, 7) at debug:0"});
}

TEST_F(conflicting_leases, stand_in_the_way_of_every_verb) {
    bytes out(size);
    const std::vector<std::pair<const char*, std::function<void()>>> verbs = {
        {"host", [&] { b.host(); }},
        {"host to read", [&] { std::as_const(b).host(); }},
        {"device", [&] { b.device(); }},
        {"sync_to_host", [&] { b.sync_to_host(); }},
        {"sync_to_device", [&] { b.sync_to_device(); }},
        {"mark_host_dirty", [&] { b.mark_host_dirty(); }},
        {"mark_device_dirty", [&] { b.mark_device_dirty(); }},
        {"prefetch", [&] { b.prefetch(device); }},
        {"discard", [&] { b.discard(device); }},
        {"discard_content", [&] { b.discard_content(); }},
        {"fill", [&] { b.fill(noise(4)); }},
        {"copy_from", [&] { b.copy_from(noise(4)); }},
        {"copy_to", [&] { b.copy_to(out); }}};
    for (const space where : {host, device}) {
        auto held = b.read_write(where);
        for (const auto& [name, does] : verbs) {
            const failure got = failure_of(does);
            EXPECT_EQ(got.code, error_code::access_conflict) << name;
            expect_words(got, {"a read-write lease of bytes [0, 1000) at " + where.name()});
            EXPECT_TRUE(same(held.span(), noise(size))) << name;
        }
        held.release();
        EXPECT_TRUE(same(content(b), noise(size)));
        EXPECT_TRUE(same(content(b, device), noise(size)));
    }
    EXPECT_EQ(out, bytes(size));
}

TEST_F(conflicting_leases, of_other_threads_are_named_when_time_is_up) {
    for (const space where : {host, device}) {
        const auto held = b.read(where);
        std::jthread([&] {
            const failure got = failure_of([&] { b.write(device, {.offset = 1, .count = 2, .timeout = 1ms}); });
            EXPECT_EQ(got.code, error_code::timeout);
            expect_words(got, {"a write lease of bytes [1, 3) at debug:0",
                               "a read lease of bytes [0, 1000) at " + where.name(), "time"});
        }).join();
        EXPECT_TRUE(same(held.span(), noise(size)));
        EXPECT_EQ(b.state(), buffer_state::synchronized);
    }
}

}  // namespace
}  // namespace unibuf::test::lease_conflict_test
