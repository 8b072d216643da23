// tests/fault/memory_fault_test.cpp: pools, eviction and batches, where each call of the device fails in turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/fake_device.hpp"
#include "support/faults.hpp"
#include "unibuf/unibuf.hpp"

namespace unibuf::test::memory_fault_test {
namespace {

using bytes = std::vector<std::byte>;

constexpr std::size_t size = 64;
constexpr std::size_t room = 3;

bytes of(int value) { return bytes(size, static_cast<std::byte>(value)); }

/// Five buffers that only the device has the newest content of, as far as it has room.
class scene {
public:
    explicit scene(fake_device& on) : device(on), where(on.where()) {
        limit_memory(where, room * size);
        for (int i = 0; i != 5; ++i) {
            all.push_back(pool.acquire(size));
            expected.push_back(of(i));
            put(i);
        }
    }
    ~scene() {
        faults::all().disarm();
        limit_memory(where, no_memory_limit);
    }
    scene(const scene&) = delete;
    scene& operator=(const scene&) = delete;

    void put(int i) {
        const auto lease = all[static_cast<std::size_t>(i)].write(where);
        kernel_write(lease.native(), 0, expected[static_cast<std::size_t>(i)]);
    }

    fake_device& device;
    space where;
    memory_pool pool;
    std::vector<buffer> all;
    std::vector<bytes> expected;  // what they hold whether the step has failed or not
};

struct step {
    const char* name;
    std::function<void(scene&)> run;
};

const std::array steps{
    step{"acquire", [](scene& in) { in.pool.release(in.pool.acquire(size)); }},
    step{"acquire_and_write",
         [](scene& in) {
             buffer taken = in.pool.acquire(size);
             kernel_write(taken.write(in.where).native(), 0, of(9));
             in.pool.release(std::move(taken));
         }},
    step{"release_and_acquire",
         [](scene& in) {
             buffer released = in.pool.acquire(size);
             released.copy_from(of(7));
             released.read(in.where).release();
             in.pool.release(std::move(released));
             buffer again = in.pool.acquire(size);
             again.read(in.where).release();
         }},
    step{"reserve", [](scene& in) { in.pool.reserve(2, size, in.where); }},
    step{"evict_by_access",
         [](scene& in) {
             for (const buffer& each : in.all) each.read(in.where).release();
         }},
    step{"evict_by_limit", [](scene& in) { limit_memory(in.where, 0); }},
    step{"batch",
         [](scene& in) {
             batch all(in.where);
             for (std::size_t i = 0; i != room; ++i) all.sync(in.all[i]);
             all.submit();
         }},
    step{"batch_to_the_host",
         [](scene& in) {
             batch all(host);
             for (const buffer& each : in.all) all.sync(each);
             all.submit();
         }},
};

class fault_where_memory_is_short
    : public testing::TestWithParam<std::tuple<std::pair<const char*, fake_traits>, step>> {};

TEST_P(fault_where_memory_is_short, loses_nothing) {
    const auto& [on, what] = GetParam();
    fake_device& device = fake_device::get(on.second);
    const std::uint64_t held_before = memory_in_all().held;
    bool struck = true;
    unsigned n = 0;
    for (; struck && n != 60; ++n) {
        SCOPED_TRACE("call " + std::to_string(n + 1));
        const std::size_t memories = device.counts.memories;
        {
            scene tried(device);
            const unsigned fired = faults::all().fired();
            faults::all().arm(n + 1, std::array{error_code::out_of_memory, error_code::transfer_failed}[n % 2], true);
            try {
                what.run(tried);
            } catch (const error&) {
                EXPECT_NE(faults::all().fired(), fired);
            }
            faults::all().disarm();
            struck = faults::all().fired() != fired;
            limit_memory(tried.where, room * size);
            what.run(tried);
            EXPECT_LE(memory_in(tried.where).held, room * size);
            for (std::size_t i = 0; i != tried.all.size(); ++i) {
                for (int attempt = 0;; ++attempt) {
                    try {
                        const auto read = tried.all[i].read(host);
                        EXPECT_TRUE(std::ranges::equal(read, tried.expected[i])) << i;
                        break;
                    } catch (const error& late) {  // what was queued and failed is told of once by each end of it
                        ASSERT_LT(attempt, 3) << late.what();
                    }
                }
            }
        }
        EXPECT_EQ(device.counts.memories, memories);
    }
    RecordProperty("calls", static_cast<int>(n));
    EXPECT_GT(n, 0U);
    EXPECT_FALSE(struck) << "after " << n << " calls it still reaches more";
    EXPECT_EQ(memory_in_all().held, held_before);
    EXPECT_TRUE(device.misuse.empty());
    device.failures.clear();
}

INSTANTIATE_TEST_SUITE_P(all, fault_where_memory_is_short,
                         testing::Combine(testing::Values(std::pair{"mirrored", fake_traits{}},
                                                          std::pair{"asynchronous", fake_traits{.asynchronous = true}}),
                                          testing::ValuesIn(steps)),
                         [](const auto& each) {
                             return std::string(std::get<0>(each.param).first) + "_" + std::get<1>(each.param).name;
                         });

class a_pool : public testing::Test {
protected:
    memory_pool pool_;
};

TEST_F(a_pool, that_goes_leaves_its_buffers_to_those_who_have_them) {
    std::optional<memory_pool> going(std::in_place);
    buffer kept = going->acquire(size);
    kept.copy_from(of(1));
    going.reset();
    EXPECT_TRUE(std::ranges::equal(kept.read(host), of(1)));
}

TEST_F(a_pool, with_a_limit_of_nothing_keeps_nothing) {
    pool_.limit(0);
    buffer used = pool_.acquire(size);
    used.copy_from(of(1));
    pool_.release(std::move(used));
    EXPECT_EQ(pool_.statistics().held, 0U);
}

TEST(a_limit, of_nothing_refuses_and_loses_nothing) {
    const space where = fake_device::get({}).where();
    buffer used(size);
    used.copy_from(of(1));
    used.read(where).release();
    limit_memory(where, 0);  // below what is held
    EXPECT_EQ(memory_in(where).held, 0U);
    try {
        used.read(where);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), error_code::out_of_memory);
        EXPECT_NE(std::string(refused.what()).find("64 bytes were asked for"), std::string::npos) << refused.what();
    }
    limit_memory(where, no_memory_limit);
    EXPECT_TRUE(std::ranges::equal(used.read(host), of(1)));
    EXPECT_EQ(seen_now(used.read(where).native()), of(1));
}

TEST(a_limit, of_host_and_device_together_is_told_of_once_and_loses_nothing) {
    const space where = fake_device::get({}).where();
    buffer first(size);
    kernel_write(first.write(where).native(), 0, of(1));
    buffer second(size);
    kernel_write(second.write(where).native(), 0, of(2));
    const std::uint64_t at_host = memory_in(host).held;
    limit_memory(host, at_host);
    limit_memory(where, 2 * size);
    buffer third(size);
    EXPECT_THROW(third.write(where), error);
    limit_memory(host, no_memory_limit);
    limit_memory(where, no_memory_limit);
    EXPECT_TRUE(std::ranges::equal(first.read(host), of(1)));
    EXPECT_TRUE(std::ranges::equal(second.read(host), of(2)));
}

}  // namespace
}  // namespace unibuf::test::memory_fault_test
