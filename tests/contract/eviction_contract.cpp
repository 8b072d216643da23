// tests/contract/eviction_contract.cpp: copies make room for others on this space, and no byte is lost.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <thread>

#include "contract/contract.hpp"
#include "memory/limits.hpp"
#include "unibuf/lease_together.hpp"

namespace unibuf::contract {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t size = 100004;

void host_writes(buffer& to, std::span<const std::byte> content) {
    const auto lease = to.write(host);
    std::ranges::copy(content, lease.begin());
}

bytes host_reads(const buffer& from) {
    const auto lease = from.read(host);
    return bytes(lease.begin(), lease.end());
}

bytes all(std::byte value) { return bytes(size, value); }

/// Returns what kept `call` from going on; empty where nothing did. Anything but memory that is short fails the test.
std::string refusal_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const error& thrown) {
        EXPECT_EQ(thrown.code(), error_code::out_of_memory) << thrown.what();
        return thrown.what();
    }
    return {};
}

}  // namespace

void eviction_contract::SetUp() {
    on_a_space::SetUp();
    if (IsSkipped()) return;
    {
        const buffer tried = mirrored();
        tried.read(where_).release();
        const placement_info found = tried.placement(where_);
        if (found.placement != placement::mirrored) {
            GTEST_SKIP() << where_.name() << " has no memory of its own that could go: " << found.reason;
        }
    }
    held_before_ = memory_in(where_).held;
    reset_peak_memory();
}

buffer eviction_contract::mirrored() const {
    buffer_options options;
    options.hint = memory_hint::gpu_preferred;
    options.device = where_;
    return buffer(size, options);
}

std::uint64_t eviction_contract::limit_of(std::size_t buffers) const { return held_before_ + buffers * size; }

bool eviction_contract::has_copy(const buffer& of) const {
    try {
        of.placement(where_);
        return true;
    } catch (const error& missing) {
        EXPECT_EQ(missing.code(), error_code::not_allocated) << missing.what();
        return false;
    }
}

void eviction_contract::device_fills(buffer& to, std::byte value) const {
    to.write(where_).release();
    to.fill({&value, 1});
}

bytes eviction_contract::device_reads(buffer& from) const {
    std::byte* const at_host = const_cast<std::byte*>(from.read(host).data());
    from.read(where_).release();
    from.mark_dirty(where_);
    std::fill_n(at_host, size, std::byte{0x5A});  // stale now, and must be fetched anew
    return host_reads(from);
}

namespace {

TEST_P(eviction_contract, writes_back_what_is_newest_and_brings_it_back) {
    make_room_for(1);
    buffer first = mirrored();
    buffer second = mirrored();
    bytes content = noise(size);
    host_writes(first, content);
    first.read(where_).release();
    buffer middle = first.view(1001, 5000);
    middle.mark_dirty(where_);
    middle.fill(noise(4, 2));
    std::ranges::copy(repeated(noise(4, 2), 5000), content.begin() + 1001);
    const std::uint64_t before = first.statistics().bytes_moved();

    device_fills(second, std::byte{2});
    EXPECT_FALSE(has_copy(first));
    EXPECT_EQ(memory_in(where_).held, limit_of(1));
    const statistics found = first.statistics();
    EXPECT_EQ(found.evictions, 1u);
    EXPECT_EQ(found.bytes_moved() - before, 5000u);
    const auto back = std::ranges::find(found.transfers, cause::eviction, &transfer_count::why);
    ASSERT_NE(back, found.transfers.end());
    EXPECT_EQ(back->from, where_);
    EXPECT_EQ(back->to, host);
    EXPECT_EQ(back->bytes, 5000u);
    EXPECT_TRUE(same(host_reads(first), content));

    EXPECT_TRUE(same(device_reads(first), content));
    EXPECT_EQ(second.statistics().evictions, 1u);
    EXPECT_FALSE(has_copy(second));
    EXPECT_TRUE(same(device_reads(second), all(std::byte{2})));
    EXPECT_LE(memory_in(where_).peak, limit_of(1));
}

TEST_P(eviction_contract, drops_what_is_current_elsewhere_without_a_transfer) {
    make_room_for(2);
    buffer oldest = mirrored();
    buffer both = mirrored();
    buffer wanted = mirrored();
    device_fills(oldest, std::byte{1});
    device_fills(both, std::byte{2});
    host_reads(both);
    const std::uint64_t before = both.statistics().bytes_moved();
    device_fills(wanted, std::byte{3});
    EXPECT_TRUE(has_copy(oldest));
    EXPECT_FALSE(has_copy(both));
    EXPECT_EQ(both.statistics().evictions, 1u);
    EXPECT_EQ(both.statistics().bytes_moved(), before);
    EXPECT_EQ(oldest.statistics().bytes_moved(), 0u);
    EXPECT_TRUE(same(host_reads(both), all(std::byte{2})));
    EXPECT_EQ(both.statistics().bytes_moved(), before);
    EXPECT_TRUE(same(device_reads(both), all(std::byte{2})));
    EXPECT_TRUE(same(host_reads(oldest), all(std::byte{1})));
    EXPECT_TRUE(same(host_reads(wanted), all(std::byte{3})));
}

TEST_P(eviction_contract, what_was_used_least_recently_goes_first_also_right_after_a_lease) {
    detail::patience_for_answers = forever;
    make_room_for(2);
    std::array<buffer, 3> in_turn{mirrored(), mirrored(), mirrored()};
    for (std::size_t use = 0; use < 12; ++use) {
        in_turn[use % 3].read_write(where_).release();
        if (use < 2) continue;
        EXPECT_FALSE(has_copy(in_turn[(use - 2) % 3])) << "use " << use;
        EXPECT_TRUE(has_copy(in_turn[(use - 1) % 3])) << "use " << use;
    }
    detail::patience_for_answers = 1ms;
}

TEST_P(eviction_contract, leaves_what_is_leased_and_a_refusal_loses_nothing) {
    make_room_for(1);
    buffer first = mirrored();
    buffer wanted = mirrored();
    device_fills(first, std::byte{1});
    host_writes(wanted, noise(size));
    auto lease = first.read(where_, {.offset = 7, .count = 1});
    const std::string asked = std::to_string(size) + " bytes were asked for at " + where_.name();
    const std::string limit = "is limited to " + std::to_string(limit_of(1));
    for (const access what : {access::read, access::write}) {
        const auto ask = [&] {
            if (what == access::read) wanted.read(where_).release();
            if (what == access::write) wanted.write(where_).release();
        };
        const std::string why = refusal_of(ask);
        EXPECT_NE(why.find(asked), std::string::npos) << why;
        EXPECT_NE(why.find(limit), std::string::npos) << why;
    }
    EXPECT_EQ(first.statistics().evictions, 0u);
    EXPECT_EQ(first.read(where_).native().handle, lease.native().handle);
    EXPECT_EQ(wanted.state(), buffer_state::host_dirty);
    EXPECT_TRUE(same(host_reads(wanted), noise(size)));
    EXPECT_EQ(memory_in(where_).held, limit_of(1));

    lease.release();
    EXPECT_TRUE(same(device_reads(wanted), noise(size)));
    EXPECT_TRUE(same(host_reads(first), all(std::byte{1})));
}

TEST_P(eviction_contract, follows_the_limit_down_and_up) {
    buffer first = mirrored();
    buffer second = mirrored();
    device_fills(first, std::byte{1});
    device_fills(second, std::byte{2});
    make_room_for(1);
    EXPECT_EQ(memory_in(where_).held, limit_of(1));
    make_room_for(0);
    EXPECT_EQ(memory_in(where_).held, limit_of(0));
    EXPECT_NE(refusal_of([&] { first.read(where_); }), "");
    EXPECT_TRUE(same(host_reads(first), all(std::byte{1})));

    make_room_for(2);
    EXPECT_TRUE(same(device_reads(first), all(std::byte{1})));
    EXPECT_TRUE(same(device_reads(second), all(std::byte{2})));
    buffer third = mirrored();
    limit_memory(where_, no_memory_limit);
    device_fills(third, std::byte{3});
    EXPECT_EQ(memory_in(where_).held, limit_of(3));
    EXPECT_TRUE(has_copy(first) && has_copy(second));
    EXPECT_EQ(first.statistics().evictions + second.statistics().evictions, 2u);
}

TEST_P(eviction_contract, leases_taken_together_have_room_together_or_none) {
    make_room_for(1);
    buffer first = mirrored();
    buffer second = mirrored();
    host_writes(first, noise(size, 1));
    host_writes(second, noise(size, 2));
    const auto both = [&] { lease_together(first.to_read_write(where_), second.to_read_write(where_)); };
    EXPECT_NE(refusal_of(both), "");
    EXPECT_TRUE(same(host_reads(first), noise(size, 1)));
    EXPECT_TRUE(same(host_reads(second), noise(size, 2)));
    make_room_for(2);
    EXPECT_EQ(refusal_of(both), "");
}

TEST_P(eviction_contract, threads_with_more_than_there_is_go_on_or_are_told) {
    make_room_for(1);
    buffer buffers[2] = {mirrored(), mirrored()};
    std::byte last[2] = {};
    std::barrier begin(2);
    {
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t < 2; ++t) {
            threads.emplace_back([&, t] {
                begin.arrive_and_wait();
                for (unsigned round = 1; round <= 100; ++round) {
                    const auto value = static_cast<std::byte>(100 * t + round);
                    const std::string why = refusal_of([&] { buffers[t].read_write(where_).release(); });
                    if (!why.empty()) {
                        EXPECT_NE(why.find("is limited to"), std::string::npos) << why;
                        continue;
                    }
                    buffers[t].fill({&value, 1});
                    last[t] = value;
                }
            });
        }
    }
    for (unsigned t = 0; t < 2; ++t) {
        EXPECT_NE(last[t], std::byte{}) << "no round of thread " << t << " had memory";
        EXPECT_TRUE(same(host_reads(buffers[t]), all(last[t])));
    }
    EXPECT_GT(buffers[0].statistics().evictions + buffers[1].statistics().evictions, 0u);
    EXPECT_LE(memory_in(where_).peak, limit_of(1));
}

TEST_P(eviction_contract, threads_that_wait_for_each_others_memory_are_told) {
    make_room_for(2);
    buffer held[2] = {mirrored(), mirrored()};
    buffer wanted[2] = {mirrored(), mirrored()};
    std::atomic<int> refused = 0;
    std::barrier both_hold(2);
    {
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t < 2; ++t) {
            device_fills(held[t], static_cast<std::byte>(1 + t));
            host_writes(wanted[t], noise(size, t));
        }
        for (unsigned t = 0; t < 2; ++t) {
            threads.emplace_back([&, t] {
                const auto lease = held[t].read(where_);
                both_hold.arrive_and_wait();
                refused += !refusal_of([&] { wanted[t].read(where_); }).empty();
            });
        }
    }
    EXPECT_GE(refused, 1);
    for (unsigned t = 0; t < 2; ++t) {
        EXPECT_TRUE(same(host_reads(held[t]), all(static_cast<std::byte>(1 + t))));
        EXPECT_TRUE(same(device_reads(wanted[t]), noise(size, t)));
    }
}

/// Asks for the memory of `used`, on which work waits, and opens its queue while the other one waits.
void take_memory_of(const buffer& used, held_queue& opened_late, const std::function<void()>& ask) {
    std::string why = "none";
    std::atomic<bool> done = false;
    std::jthread other([&] {
        why = refusal_of(ask);
        done = true;
    });
    std::this_thread::sleep_for(20ms);  // long enough for a call that would not wait
    EXPECT_FALSE(done) << why;
    EXPECT_EQ(used.statistics().evictions, 0u) << "it went while work was queued on it";
    opened_late.open();
    other.join();
    EXPECT_EQ(why, "");
    EXPECT_EQ(used.statistics().evictions, 1u);
}

TEST_P(queued_eviction_contract, memory_goes_after_the_work_on_it) {
    make_room_for(1);
    buffer used = mirrored();
    buffer wanted = mirrored();
    host_writes(used, noise(size));
    bytes content = noise(size);
    const auto queue = GetParam().hold_queue(where_);
    {
        const auto lease = used.read_write(where_, {.offset = 40000, .count = 20000, .on = queue->name()});
        queue->set(lease.native(), std::byte{7});
    }
    std::fill_n(content.begin() + 40000, 20000, std::byte{7});
    take_memory_of(used, *queue, [&] { wanted.write(where_); });
    EXPECT_FALSE(has_copy(used));
    EXPECT_TRUE(same(host_reads(used), content));
    EXPECT_TRUE(same(device_reads(used), content));
}

TEST_P(queued_eviction_contract, memory_goes_after_the_work_that_reads_it) {
    make_room_for(1);
    buffer used = mirrored();
    buffer wanted = mirrored();
    host_writes(used, noise(size));
    const auto queue = GetParam().hold_queue(where_);
    used.prefetch(where_, {.on = queue->name()});
    used.read(where_, {.on = queue->name()}).release();
    take_memory_of(used, *queue, [&] { wanted.write(where_); });
    EXPECT_FALSE(has_copy(used));
    EXPECT_EQ(used.statistics().bytes_moved(), size);
    EXPECT_TRUE(same(host_reads(used), noise(size)));
    EXPECT_EQ(used.statistics().bytes_moved(), size);
}

}  // namespace
TEST_P(eviction_contract, a_copy_for_which_there_is_no_room_is_made_at_the_host) {
    make_room_for(1);
    buffer source = mirrored();
    buffer target = mirrored();
    device_fills(source, std::byte{5});
    target.copy_from(source);
    EXPECT_TRUE(same(host_reads(target), all(std::byte{5})));
    EXPECT_TRUE(same(host_reads(source), all(std::byte{5})));
}

}  // namespace unibuf::contract
