// tests/contract/fence_contract.cpp: fences tell when work is done, and order it.
#include <thread>

#include "contract/contract.hpp"

namespace unibuf::contract::fence_suite {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t size = 4 << 20;

/// Work that is no device's.
class foreign_work final : public fence::work {
public:
    bool wait(std::chrono::nanoseconds) override { return true; }
};

TEST_P(backend_contract, fences_stay_done) {
    const auto memory = allocate(size);
    const bytes content = noise(size);
    const fence written = memory->write(0, content, {});
    EXPECT_TRUE(written.wait());
    EXPECT_TRUE(written.done());
    EXPECT_TRUE(written.wait(std::chrono::nanoseconds::zero()));
    EXPECT_TRUE(written.wait(1ms));
    EXPECT_TRUE(written.wait());
}

TEST_P(backend_contract, fences_are_done_within_a_finite_time) {
    const auto memory = allocate(size);
    const bytes content = noise(size);
    const fence written = memory->write(0, content, {});
    written.wait(1ns);  // the time may be too short, which does no harm
    EXPECT_TRUE(written.wait(60s));
    bytes got(size);
    const fence read = memory->read(0, got, {});
    const auto begin = std::chrono::steady_clock::now();
    while (!read.done()) ASSERT_LT(std::chrono::steady_clock::now() - begin, 60s);
    EXPECT_TRUE(same(got, content));
}

TEST_P(backend_contract, fences_outlive_their_memory) {
    auto memory = allocate(size);
    const bytes content = noise(size);
    const fence written = memory->write(0, content, {});
    EXPECT_TRUE(written.wait());
    memory.reset();
    EXPECT_TRUE(written.done());
}

TEST_P(backend_contract, fences_are_waited_for_by_several_threads) {
    const auto memory = allocate(size);
    const bytes content = noise(size);
    const fence written = memory->write(0, content, {});
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([written] { EXPECT_TRUE(written.wait(60s)); });
}

TEST_P(backend_contract, a_recorded_fence_is_after_all_work) {
    EXPECT_TRUE(device().record({}).wait());
    const auto memory = allocate(size);
    const bytes content = noise(size);
    bytes got(size);
    memory->write(0, content, {});
    memory->read(0, got, {});
    EXPECT_TRUE(device().record({}).wait());
    EXPECT_TRUE(same(got, content));
}

TEST_P(backend_contract, orders_work_after_a_fence_or_says_that_it_cannot) {
    EXPECT_TRUE(device().order({}, {}));
    EXPECT_FALSE(device().order(fence(std::make_shared<foreign_work>()), {}));

    const auto memory = allocate(size);
    const auto other = allocate(size);
    const bytes content = noise(size);
    const fence written = memory->write(0, content, {});
    if (!device().order(written, {})) written.wait();
    put(*other, 0, content);
    EXPECT_TRUE(same(get(*other, 0, size), content));
    EXPECT_TRUE(written.done());
}

}  // namespace
}  // namespace unibuf::contract::fence_suite
