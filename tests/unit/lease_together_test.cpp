// tests/unit/lease_together_test.cpp: several leases in one call.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "unibuf/unibuf.hpp"

namespace {

using namespace std::chrono_literals;
using unibuf::access_options;
using unibuf::error_code;
using unibuf::lease_together;
using unibuf::unified_buffer;

error_code code_of(const auto& call) {
    try {
        call();
    } catch (const unibuf::error& thrown) {
        return thrown.code();
    }
    ADD_FAILURE() << "no error was thrown";
    return {};
}

TEST(lease_together, gives_each_what_it_asked_for) {
    unified_buffer<int> from({8});
    unified_buffer<double> to({4});
    from.fill(3);
    auto [read, written] =
        lease_together(from.to_read("debug:0", {.offset = 2, .count = 4}), to.to_write(unibuf::host));
    EXPECT_EQ(read.size(), 4u);
    EXPECT_EQ(read[0], 3);
    EXPECT_EQ(read.where(), unibuf::space("debug:0"));
    EXPECT_EQ(written.size(), 4u);
    written[3] = 1.5;
    EXPECT_EQ(code_of([&] { from.write(unibuf::host); }), error_code::access_conflict);
    read.release();
    written.release();
    EXPECT_EQ(to.read("debug:0")[3], 1.5);
}

TEST(lease_together, ends_what_was_in_the_places_once_all_are_taken) {
    unibuf::buffer one(100), other(100);
    const unibuf::space device("debug:0");
    std::array<unibuf::byte_lease, 2> taken;
    for (int round = 0; round != 3; ++round) {
        const std::array<unibuf::wanted_byte_lease, 2> wanted{one.to_read(device).bytes,
                                                              (round == 1 ? one : other).to_read(unibuf::host).bytes};
        lease_together(wanted, taken);
        EXPECT_TRUE(taken[0].held() && taken[1].held());
    }
    const std::array<unibuf::wanted_byte_lease, 1> writes{other.to_write(device).bytes};
    EXPECT_EQ(code_of([&] { lease_together(writes, taken); }), error_code::access_conflict);
    EXPECT_TRUE(taken[0].held() && taken[1].held());
    taken = {};
    EXPECT_NO_THROW(one.write(unibuf::host));
    EXPECT_NO_THROW(other.write(unibuf::host));
}

TEST(lease_together, of_threads_that_hold_others_in_the_places_goes_on) {
    unibuf::buffer one(100), other(100);
    const auto play = [&](bool first_one) {
        std::array<unibuf::byte_lease, 1> taken;
        for (int round = 0; round != 2000; ++round) {
            const std::array<unibuf::wanted_byte_lease, 1> wanted{
                ((round % 2 == 0) == first_one ? one : other).to_read("debug:0").bytes};
            lease_together(wanted, taken);
        }
    };
    std::jthread left(play, true), right(play, false);
}

TEST(lease_together, needs_a_place_for_each) {
    unibuf::buffer one(100), other(100);
    std::array<unibuf::byte_lease, 1> taken;
    const std::array<unibuf::wanted_byte_lease, 2> wanted{one.to_read("debug:0").bytes, other.to_read("debug:0").bytes};
    EXPECT_EQ(code_of([&] { lease_together(wanted, taken); }), error_code::invalid_argument);
    EXPECT_FALSE(taken[0].held());
}

TEST(lease_together, keeps_what_was_newest_when_one_cannot_be_had) {
    unified_buffer<int> first({8});
    unified_buffer<int> second({8});
    first.fill(1);
    second.fill(2);
    const auto held = second.read(unibuf::host);
    // The leases are asked for in both orders, so that once a write is granted before the conflict shows.
    EXPECT_EQ(code_of([&] { lease_together(first.to_write("debug:0"), second.to_write("debug:0")); }),
              error_code::access_conflict);
    EXPECT_EQ(code_of([&] { lease_together(second.to_write("debug:0"), first.to_write("debug:0")); }),
              error_code::access_conflict);
    EXPECT_EQ(first.read(unibuf::host)[0], 1);
    EXPECT_EQ(first.read("debug:0")[7], 1);
    EXPECT_EQ(held[0], 2);
    EXPECT_TRUE(first.write(unibuf::host, {.timeout = 0ns}));
}

/// Leases of spans are given to the caller one by one.
TEST(lease_together, holds_nothing_after_one_is_refused) {
    unibuf::buffer first(100);
    unibuf::buffer second(100);
    for (unibuf::buffer* const each : {&first, &second}) each->fill(std::array{std::byte{1}});
    std::optional<unibuf::lease<const std::byte>> of_another_thread;
    std::thread([&] { of_another_thread.emplace(second.read(unibuf::host)); }).join();
    const std::array wanted{first.to_write(unibuf::host).bytes, second.to_write(unibuf::host, {.timeout = 0ns}).bytes};
    std::array<unibuf::byte_lease, 2> taken;
    EXPECT_EQ(code_of([&] { lease_together(wanted, taken); }), error_code::timeout);
    EXPECT_FALSE(taken[0].held() || taken[1].held());
    EXPECT_EQ(first.write(unibuf::host)[7], std::byte{1});
}

TEST(lease_together, refuses_two_that_exclude_each_other) {
    unified_buffer<int> buffer({8});
    buffer.fill(4);
    EXPECT_EQ(code_of([&] {
                  lease_together(buffer.to_write(unibuf::host, {.offset = 2, .count = 4}),
                                 buffer.to_read(unibuf::host, {.offset = 5}));
              }),
              error_code::access_conflict);
    EXPECT_EQ(buffer.read(unibuf::host)[3], 4);
    const auto [left, right] = lease_together(buffer.to_write(unibuf::host, {.offset = 4, .count = 4}),
                                              buffer.to_read(unibuf::host, {.offset = 0, .count = 4}));
    EXPECT_EQ(right[0], 4);
}

TEST(lease_together, checks_ranges_before_it_takes_anything) {
    unified_buffer<int> buffer({8});
    buffer.fill(5);
    EXPECT_EQ(code_of([&] { lease_together(buffer.to_write(unibuf::host), buffer.to_read("debug:0", {.offset = 9})); }),
              error_code::out_of_range);
    EXPECT_EQ(buffer.read(unibuf::host)[0], 5);
}

/// What is written is newest once the start has returned, so nobody has the bytes before.
TEST(lease_together, a_lease_that_the_start_ends_excludes_others_until_it_returns) {
    unified_buffer<int> b({8});
    for (const bool fails : {false, true}) {
        b.fill(1, unibuf::host);
        const std::array wanted{b.to_write("debug:0").bytes};
        std::array<unibuf::byte_lease, 1> taken;
        const auto start = [&] {
            std::fill_n(reinterpret_cast<int*>(taken[0].address()), 8, 2);
            taken[0].end();
            EXPECT_FALSE(taken[0].held());
            EXPECT_EQ(code_of([&] { b.write(unibuf::host); }), error_code::access_conflict);
            EXPECT_EQ(code_of([&] { b.read(unibuf::host); }), error_code::access_conflict);
            std::thread other(
                [&] { EXPECT_EQ(code_of([&] { b.write(unibuf::host, {.timeout = 10ms}); }), error_code::timeout); });
            other.join();
            if (fails) throw std::runtime_error("the launch failed");
        };
        if (fails) {
            EXPECT_THROW(lease_together(wanted, taken, start), std::runtime_error);
        } else {
            lease_together(wanted, taken, start);
        }
        EXPECT_EQ(b.read(unibuf::host)[7], fails ? 1 : 2);
        b.write(unibuf::host)[7] = 3;
        EXPECT_EQ(b.read("debug:0")[7], 3);
    }
}

TEST(lease_together, outlives_buffers_that_its_start_ends) {
    for (const bool fails : {false, true}) {
        auto b = std::make_unique<unified_buffer<int>>(unibuf::shape{8});
        b->fill(1);
        std::array<unibuf::byte_lease, 1> taken;
        const auto start = [&] {
            taken[0].end();
            b.reset();
            if (fails) throw std::runtime_error("the launch failed");
        };
        const std::array wanted{b->to_write("debug:0").bytes};
        EXPECT_EQ(fails, [&] {
            try {
                lease_together(wanted, taken, start);
            } catch (const std::runtime_error&) {
                return true;
            }
            return false;
        }());
    }
}

TEST(lease_together, starts_nothing_by_an_empty_function) {
    unified_buffer<int> b({8});
    b.fill(1);
    std::array<unibuf::byte_lease, 1> taken;
    lease_together(std::array{b.to_write("debug:0").bytes}, taken, std::function<void()>{});
    EXPECT_TRUE(taken[0].held());
    EXPECT_EQ(b.state(), unibuf::buffer_state::device_dirty);
}

TEST(lease_together, a_start_that_throws_leaves_all_as_it_was) {
    unified_buffer<int> from({8});
    unified_buffer<int> to({8});
    from.fill(3);
    to.fill(4);
    const std::array wanted{from.to_read("debug:0").bytes, to.to_write("debug:0").bytes};
    std::array<unibuf::byte_lease, 2> taken;
    EXPECT_THROW(lease_together(wanted, taken,
                                [&] {
                                    EXPECT_TRUE(taken[0].held() && taken[1].held());
                                    throw std::runtime_error("the launch failed");
                                }),
                 std::runtime_error);
    EXPECT_FALSE(taken[0].held() || taken[1].held());
    EXPECT_EQ(to.read(unibuf::host)[7], 4);
    from.write(unibuf::host).release();

    int starts = 0;
    lease_together(wanted, taken, [&] { ++starts; });
    EXPECT_EQ(starts, 1);
    EXPECT_EQ(to.state(), unibuf::buffer_state::device_dirty);
}

TEST(lease_together, never_waits_in_a_circle) {
    unified_buffer<int> a({64});
    unified_buffer<int> b({64});
    a.fill(0);
    b.fill(0);
    constexpr int rounds = 500;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                for (int round = 0; round < rounds; ++round) {
                    auto [x, y] = t % 2 == 0
                                      ? lease_together(a.to_read_write(unibuf::host), b.to_read_write("debug:0"))
                                      : lease_together(b.to_read_write("debug:0"), a.to_read_write(unibuf::host));
                    ++x[0];
                    ++y[0];
                }
            });
        }
    }
    EXPECT_EQ(a.read(unibuf::host)[0], 4 * rounds);
    EXPECT_EQ(b.read(unibuf::host)[0], 4 * rounds);
}

TEST(lease_together, holds_nothing_while_it_waits_for_a_lease_by_hand) {
    unified_buffer<int> first({64});
    unified_buffer<int> second({64});
    first.fill(0);
    second.fill(0);
    for (auto* const held : {&first, &second}) {
        unified_buffer<int>& other = held == &first ? second : first;
        auto by_hand = held->read_write(unibuf::host);
        std::jthread thread([&] {
            auto [x, y] = lease_together(first.to_read_write("debug:0"), second.to_read_write("debug:0"));
            ++x[1];
            ++y[1];
        });
        std::this_thread::sleep_for(20ms);
        ++other.read_write(unibuf::host, {.timeout = 60s})[0];  // is refused where the thread has it
        ++by_hand[0];
        by_hand.release();
    }
    for (const auto* const each : {&first, &second}) {
        const auto read = each->read(unibuf::host);
        EXPECT_EQ(read[0], 2);
        EXPECT_EQ(read[1], 2);
    }
}

TEST(lease_together, gives_parts_of_one_buffer_that_overlap_to_readers) {
    unified_buffer<int> a({64});
    for (const unibuf::space where : {unibuf::space("debug:0"), unibuf::host}) {
        a.fill(7);
        auto [low, high, all] =
            lease_together(a.to_read(where, {.count = 40}), a.to_read(where, {.offset = 20}),
                           a.to_read(where == unibuf::host ? unibuf::space("debug:0") : unibuf::host));
        EXPECT_EQ(low[39], 7);
        EXPECT_EQ(high[43], 7);
        EXPECT_EQ(all[63], 7);
    }
}

TEST(lease_together, of_more_than_there_is_room_for_is_taken_by_turns) {
    const unibuf::space device("debug:0");
    constexpr std::size_t count = 16384;
    std::vector<unified_buffer<int>> all;
    for (int i = 0; i < 6; ++i) all.emplace_back(unibuf::shape{count}).fill(0);
    unibuf::limit_memory(device, 4 * count * sizeof(int));
    constexpr int rounds = 30;
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < 2; ++t) {
            threads.emplace_back([&, t] {
                auto* const mine = &all[3 * t];
                for (int round = 0; round < rounds; ++round) {
                    auto [x, y, z] = lease_together(mine[2].to_read_write(device), mine[0].to_read_write(device),
                                                    mine[1].to_read_write(device));
                    ++x[0];
                    ++y[0];
                    ++z[count - 1];
                }
            });
        }
    }
    EXPECT_EQ(code_of([&] {
                  lease_together(all[0].to_read(device), all[1].to_read(device), all[2].to_read(device),
                                 all[3].to_read(device), all[4].to_read(device));
              }),
              error_code::out_of_memory);
    unibuf::limit_memory(device, unibuf::no_memory_limit);
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].read(unibuf::host)[i % 3 == 1 ? count - 1 : 0], rounds);
        all[i].write(unibuf::host, {.timeout = 10s}).release();  // nobody has kept a claim
    }
}

/// Readers and writers let each other in, whether they ask for their leases together or alone.
TEST(lease_together, lets_writers_in_and_is_let_in) {
    std::array<unified_buffer<int>, 3> all{unified_buffer<int>{{64}}, unified_buffer<int>{{64}},
                                           unified_buffer<int>{{64}}};
    for (auto& each : all) each.fill(0);
    std::atomic<bool> stop = false;
    std::vector<std::jthread> readers;
    for (std::size_t t = 0; t < 3; ++t) {
        readers.emplace_back([&] {
            while (!stop) auto held = lease_together(all[0].to_read(unibuf::host), all[1].to_read(unibuf::host));
        });
        readers.emplace_back([&, t] {
            while (!stop) {
                const auto held = all[t].read(unibuf::host);
                std::this_thread::sleep_for(1ms);
            }
        });
    }
    for (int round = 0; round < 20; ++round) {
        ++all[0].read_write(unibuf::host, {.timeout = 60s})[0];
        auto [x, y, z] = lease_together(all[0].to_read_write(unibuf::host, {.timeout = 60s}),
                                        all[1].to_read_write(unibuf::host, {.timeout = 60s}),
                                        all[2].to_read_write(unibuf::host, {.timeout = 60s}));
        ++x[0];
        ++z[0];
    }
    stop = true;
    readers.clear();
    EXPECT_EQ(all[0].read(unibuf::host)[0], 40);
    EXPECT_EQ(all[2].read(unibuf::host)[0], 20);
}

}  // namespace
