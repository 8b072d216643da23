// tests/unit/threads_test.cpp: many threads, on one buffer and on many. The thread sanitizer runs these too.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <latch>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "support/sanitizers.hpp"
#include "unit/common.hpp"

namespace unibuf::test::threads_test {
namespace {

using namespace std::chrono_literals;

constexpr unsigned threads = 64;
constexpr unsigned rounds = 12;

/// Runs work(0), work(1), and so on, each on a thread of its own, all at once.
void at_once(unsigned count, const std::function<void(unsigned)>& work) {
    std::latch start(count);
    std::vector<std::jthread> running;
    for (unsigned i = 0; i < count; ++i) {
        running.emplace_back([&, i] {
            start.arrive_and_wait();
            work(i);
        });
    }
}

class many_threads : public testing::Test {
protected:
    space side(unsigned n) const { return n % 2 == 0 ? host : device; }

    const space device{"debug:0"};
};

TEST_F(many_threads, read_no_write_in_halves) {
    unified_buffer<unsigned> b({700});
    b.fill(0u);
    std::atomic<unsigned> torn = 0;
    at_once(threads, [&](unsigned me) {
        for (unsigned round = 0; round < rounds; ++round) {
            if ((me + round) % 4 == 0) {
                const auto w = b.write(side(me / 4 + round));
                for (std::size_t i = 0; i < w.size(); ++i) {
                    w[i] = me * rounds + round;
                    if (i == w.size() / 2) std::this_thread::yield();
                }
            } else {
                const auto r = b.read(side(me + round));
                const unsigned first = r[0];
                for (const unsigned each : r) torn += each != first;
            }
        }
    });
    EXPECT_EQ(torn, 0u);
}

TEST_F(many_threads, lose_no_update) {
    unified_buffer<unsigned> b({100});
    at_once(threads, [&](unsigned me) {
        for (unsigned round = 0; round < rounds; ++round) {
            for (unsigned& each : b.read_write(side(me + round))) ++each;
        }
    });
    for (const unsigned each : b.read(host)) ASSERT_EQ(each, threads * rounds);
}

TEST_F(many_threads, lose_no_update_in_views_that_overlap) {
    constexpr std::size_t step = 37;
    unified_buffer<unsigned> b({(threads + 1) * step});
    at_once(threads, [&](unsigned me) {
        auto mine = b.view(me * step, 2 * step);  // shares a half with each neighbour's view
        for (unsigned round = 0; round < rounds; ++round) {
            for (unsigned& each : mine.read_write(side(me + round))) ++each;
        }
    });
    const auto r = b.read(host);
    for (std::size_t i = 0; i < r.size(); ++i) {
        const bool shared = i >= step && i < threads * step;
        ASSERT_EQ(r[i], (shared ? 2 : 1) * rounds) << i;
    }
}

TEST_F(many_threads, write_different_parts_at_a_time) {
    constexpr std::size_t step = 50;
    unified_buffer<unsigned> b({threads * step});
    std::barrier all_hold(threads);
    at_once(threads, [&](unsigned me) {
        const auto w = b.write(side(me), {.offset = me * step, .count = step});
        all_hold.arrive_and_wait();  // would never return if a lease waited for one of other bytes
        for (unsigned& each : w) each = me;
    });
    for (const space where : {device, host}) {
        const auto r = b.read(where);
        for (std::size_t i = 0; i < r.size(); ++i) ASSERT_EQ(r[i], i / step);
    }
}

TEST_F(many_threads, read_at_a_time) {
    buffer b(1000);
    put(b, noise(1000));
    std::barrier all_hold(threads);
    at_once(threads, [&](unsigned me) {
        const auto r = b.read(side(me));
        all_hold.arrive_and_wait();
        EXPECT_TRUE(same(r.span(), noise(1000)));
    });
    EXPECT_EQ(b.statistics().bytes_moved(), 1000u) << "what one thread has fetched is there for all";
}

TEST_F(many_threads, allocate_once) {
    for (unsigned round = 0; round < rounds; ++round) {
        const std::uint64_t before = memory_in_all().held;
        const buffer b(5000);
        at_once(threads / 4, [&](unsigned me) { EXPECT_TRUE(same(content(b, side(me)), bytes(5000))); });
        EXPECT_EQ(memory_in_all().held, before + 10000);
    }
}

TEST_F(many_threads, have_buffers_of_their_own) {
    const std::uint64_t before = memory_in_all().held;
    std::vector<std::uint64_t> ids(threads * rounds);
    at_once(threads, [&](unsigned me) {
        for (unsigned round = 0; round < rounds; ++round) {
            const bytes expected = noise(100 + me, me * rounds + round);
            buffer own(expected.size());
            ids[me * rounds + round] = own.id();
            put(own, expected, side(round));
            EXPECT_TRUE(same(content(own, side(round + 1)), expected));
            own.fill(part(expected, 0, 1));
            EXPECT_TRUE(same(content(own), bytes(expected.size(), expected[0])));
        }
    });
    EXPECT_EQ(memory_in_all().held, before);
    std::ranges::sort(ids);
    EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end()) << "an id is never used twice";
}

TEST_F(many_threads, end_the_leases_of_others) {
    for (const space where : {host, device}) {
        for (unsigned round = 0; round < rounds; ++round) {
            unified_buffer<unsigned> b({64});
            auto taken = b.write(where);
            std::jthread([&, mine = std::move(taken)]() mutable {
                for (unsigned& each : mine) each = round + 1;
                mine.release();
            }).join();
            EXPECT_FALSE(taken);
            EXPECT_EQ(b.read(host, {.timeout = 0ns})[63], round + 1);
        }
    }
}

TEST_F(many_threads, hand_leases_on) {
    unified_buffer<unsigned> b({threads});
    std::vector<lease<unsigned>> leases(threads);
    at_once(threads, [&](unsigned me) { leases[me] = b.write(side(me), {.offset = me, .count = 1}); });
    at_once(threads, [&](unsigned me) {
        auto mine = std::move(leases[(me + 7) % threads]);
        mine[0] = (me + 7) % threads;
    });
    const auto r = b.read(host, {.timeout = 0ns});
    for (unsigned i = 0; i < threads; ++i) EXPECT_EQ(r[i], i);
}

TEST_F(many_threads, wait_for_their_turn_also_without_a_lease) {
    const default_device_is device_is_default(device);
    buffer b(1000);
    bytes got(1000);
    for (const space where : {host, device}) {
        const std::vector<std::function<void()>> verbs = {[&] { b.host(), b.release_host(); },
                                                          [&] { std::as_const(b).host(), b.release_host(); },
                                                          [&] { b.device(), b.release_device(); },
                                                          [&] { b.sync_to_host(); },
                                                          [&] { b.sync_to_device(); },
                                                          [&] { b.mark_host_dirty(); },
                                                          [&] { b.prefetch(device); },
                                                          [&] { b.discard(where == host ? device : host); },
                                                          [&] { b.fill(noise(4)); },
                                                          [&] { b.copy_from(noise(4)); },
                                                          [&] { b.copy_to(got); },
                                                          [&] { b.read(device).release(); },
                                                          [&] { b.read_write(host).release(); },
                                                          [&] { b.discard_content(); }};
        for (const auto& verb : verbs) {
            put(b, noise(1000));
            b.sync_to_device();
            auto held = b.read_write(where);
            std::atomic<bool> released = false;
            std::latch started(1);
            std::jthread other([&] {
                started.count_down();
                verb();
                EXPECT_TRUE(released);
            });
            started.wait();
            std::this_thread::sleep_for(1ms);
            released = true;
            held.release();
        }
    }
}

TEST_F(many_threads, give_up_when_their_time_is_over) {
    buffer b(1000);
    put(b, noise(1000));
    for (const space where : {host, device}) {
        auto held = b.write(where, {.offset = 10, .count = 10});
        std::ranges::copy(part(noise(1000), 10, 10), held.begin());
        std::atomic<unsigned> gave_up = 0;
        at_once(threads, [&](unsigned me) {
            const auto elsewhere = b.read(side(me), {.offset = 20, .timeout = 1h});
            EXPECT_TRUE(same(elsewhere.span(), part(noise(1000), 20, 980)));
            const failure got = failure_of([&] { b.read(side(me), {.timeout = std::chrono::microseconds(me)}); });
            gave_up += got.code == error_code::timeout;
        });
        EXPECT_EQ(gave_up, threads);
        held.release();
        at_once(threads, [&](unsigned me) { EXPECT_TRUE(same(content(b, side(me)), noise(1000))); });
    }
}

TEST_F(many_threads, keep_what_a_buffer_leaves_behind) {
    const std::uint64_t before = memory_in_all().held;
    for (unsigned round = 0; round < rounds; ++round) {
        const unsigned holders = round % 3 == 0 ? 1 : threads / 4;
        auto b = std::make_unique<buffer>(3000);
        put(*b, noise(3000, round));
        std::barrier steps(holders + 1);
        std::vector<std::jthread> running;
        for (unsigned me = 0; me < holders; ++me) {
            running.emplace_back([&, me] {
                auto r = b->read(side(me + round));
                steps.arrive_and_wait();
                EXPECT_TRUE(same(r.span(), noise(3000, round)));
            });
        }
        steps.arrive_and_wait();
        b.reset();  // while they read, or just after
        running.clear();
        EXPECT_EQ(memory_in_all().held, before);
    }
}

TEST_F(many_threads, drop_handles_and_leases_in_any_order) {
    const std::uint64_t before = memory_in_all().held;
    for (unsigned round = 0; round < rounds; ++round) {
        std::vector<std::optional<buffer>> views(threads / 4);
        {
            buffer b(1000);
            put(b, noise(1000));
            for (auto& view : views) view.emplace(b.view(10, 500));
        }
        at_once(threads / 4, [&](unsigned me) {
            auto r = views[me]->read(side(me));
            if (me % 2 == 0) views[me].reset();
            EXPECT_TRUE(same(r.span(), part(noise(1000), 10, 500)));
            r.release();
            views[me].reset();
        });
        EXPECT_EQ(memory_in_all().held, before);
    }
}

TEST_F(many_threads, see_the_default_device_change) {
    const default_device_is restored(host);
    buffer b(1000, {.access = host_access::read_only});  // a host that may write would count as written at each change
    put(b, noise(1000), device);
    const std::byte* const at_device = b.read(device).data();
    const std::byte* const at_host = b.read(host).data();
    std::atomic<bool> done = false;
    std::jthread changer([&] {
        for (unsigned i = 0; !done; ++i) {
            set_default_device(side(i));
            std::this_thread::yield();
        }
    });
    at_once(threads, [&](unsigned me) {
        for (unsigned round = 0; round < rounds; ++round) {
            const native_memory now = b.device();
            EXPECT_EQ(now.as<const std::byte>(), now.where == host ? at_host : at_device);
            EXPECT_TRUE(now.where == host || now.where == device);
            b.sync_to_device();
            EXPECT_TRUE(same(content(b, side(me + round)), noise(1000)));
        }
    });
    done = true;
    EXPECT_EQ(b.statistics().bytes_moved(), 1000u);
}

TEST_F(many_threads, count_every_transfer) {
    constexpr std::size_t step = 64;
    reset_statistics();
    buffer b(threads * step);
    put(b, noise(b.size_bytes()));
    at_once(threads, [&](unsigned me) {
        buffer mine = b.view(me * step, step);
        for (unsigned round = 0; round < rounds; ++round) {
            mine.read_write(device).release();
            mine.read_write(host).release();
        }
    });
    EXPECT_EQ(b.statistics().bytes_moved(), std::uint64_t{threads} * rounds * step * 2);
    EXPECT_EQ(b.statistics().transfers_made(), std::uint64_t{threads} * rounds * 2);
    EXPECT_EQ(total_statistics().bytes_moved(), b.statistics().bytes_moved());
    EXPECT_TRUE(same(content(b), noise(b.size_bytes())));
}

/// A child uses what no other thread uses, while others use theirs.
TEST(threads_of_a_parent, leave_no_lock_to_a_child) {
    if (has_thread_sanitizer) GTEST_SKIP() << "it follows no fork of a process with threads";
    const space device("debug:0");
    buffer mine(3000);
    mine.read(device).release();
    memory_pool pool;
    std::atomic<bool> done = false;
    const auto find_nothing = [] { static_cast<void>(failure_of([] { static_cast<void>(space("nothing:0")); })); };
    const auto work = [&] {
        while (!done) {
            find_nothing();
            buffer own(120);
            own.read(device).release();
            pool.release(pool.acquire(100));
        }
    };
    const std::jthread one(work);
    const std::jthread other(work);
    constexpr int forks = has_address_sanitizer ? 60 : 300;  // whose memory takes long to fork
    for (int i = 0; i < forks && !HasFailure(); ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(60);
            mine.write(space("debug:0")).release();
            mine.read(host).release();
            buffer own(3000);
            own.write(device).release();
            pool.release(pool.acquire(100));
            find_nothing();
            ::_exit(0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0) << "child " << i << " found something locked";
    }
    done = true;
}

}  // namespace
}  // namespace unibuf::test::threads_test
