// tests/contract/cuda/stall_test.cpp: who waits for whom: nobody waits for a stream that nobody named.
#include <chrono>
#include <future>

#include "contract/cuda/fixture.hpp"
#include "unibuf/transfer_cost.hpp"

namespace unibuf::contract {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::chrono::seconds long_enough(60);  // for a busy machine; nothing succeeds by waiting so long

/// A program that holds one stream back until the end of the test.
class stall_test : public cuda_test {
protected:
    void SetUp() override {
        cuda_test::SetUp();
        if (IsSkipped()) return;
        by_.emplace();
        held_ = by_->stream();
        free_ = by_->stream();
    }

    void hold_back() { gate_.emplace(*by_, held_); }
    void let_go() { gate_.reset(); }

    /// Does `work` on another thread, while the stream is held back. Returns whether that came to an end.
    template <class Work>
    bool comes_to_an_end(Work work) {
        hold_back();
        std::future<void> done = std::async(std::launch::async, [&] {
            const program here;
            work();
        });
        const bool ended = done.wait_for(long_enough) == std::future_status::ready;
        let_go();
        done.get();
        return ended;
    }

    queue on(stream_handle stream) const { return cuda::queue_of(stream); }

    std::optional<program> by_;
    std::optional<gate> gate_;
    stream_handle held_ = nullptr;
    stream_handle free_ = nullptr;
};

/// What transfers cost was once measured within such an access, after all work of the device.
TEST_F(stall_test, parts_on_another_stream_wait_for_nothing) {
    buffer many = mirrored(mebibyte);
    host_writes(many, noise(mebibyte));
    many.read(where_, {.on = on(free_)}).release();
    for (std::size_t i = 0; i != 4; ++i) many.write(host, {.offset = i * 8192, .count = 100}).release();
    EXPECT_TRUE(comes_to_an_end([&] { many.read(where_, {.on = on(free_)}).release(); }));
}

TEST_F(stall_test, costs_are_measured_beside_work) {
    EXPECT_TRUE(comes_to_an_end([&] { transfer_cost_of(where_); }));
}

TEST_F(stall_test, a_long_write_stops_no_other_thread) {
    buffer longer = mirrored(32 * mebibyte);
    buffer shorter = mirrored(200'000);
    host_writes(longer, noise(32 * mebibyte));
    host_writes(shorter, noise(200'000));
    hold_back();
    std::future<void> first = std::async(std::launch::async, [&] {
        const program here;
        longer.read(where_, {.on = on(held_)}).release();
    });
    while (first.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready && !all_room_is_taken()) {
    }
    std::future<void> second = std::async(std::launch::async, [&] {
        const program here;
        shorter.read(where_, {.on = on(free_)}).release();
    });
    EXPECT_EQ(second.wait_for(long_enough), std::future_status::ready);
    let_go();
    first.get();
    second.get();
    EXPECT_TRUE(same(host_reads(longer), noise(32 * mebibyte)));
}

}  // namespace
}  // namespace unibuf::contract
