// tests/contract/cuda/captures_test.cpp: a program's capture stays whole, whatever unibuf frees and moves beside it.
#include <optional>

#include "contract/cuda/fixture.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf::contract {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t small = 5000;

class beside_a_capture : public cuda_test {
protected:
    void SetUp() override {
        cuda_test::SetUp();
        if (IsSkipped()) return;
        by_.emplace();
        captured_ = by_->stream();
        other_ = cuda::queue_of(by_->stream());
    }

    /// Returns a buffer that the host and the device have used.
    buffer used(std::size_t count, const buffer_options& options = {}) const {
        buffer made(count, options);
        host_writes(made, noise(count));
        made.read(where_, {.on = other_}).release();
        return made;
    }

    std::optional<program> by_;
    stream_handle captured_ = nullptr;
    queue other_;
};

TEST_F(beside_a_capture, buffers_end) {
    std::vector<buffer> all;
    for (const std::size_t count : {small, mebibyte}) {
        for (const memory_hint hint : {memory_hint::gpu_preferred, memory_hint::cpu_preferred}) {
            for (const bool out : {false, true}) {
                all.push_back(used(count, {.hint = hint, .pinned = true}));
                if (out) all.back().device();
            }
        }
    }
    const copy_view held = all.front().hold_copy(where_);
    capture under_way(captured_);
    all.clear();
    EXPECT_TRUE(under_way.end());
}

TEST_F(beside_a_capture, leases_on_other_streams_allocate) {
    for (int i = 0; i != 3; ++i) used(small).device();  // what was freed may be in use still
    capture under_way(captured_);
    for (int i = 0; i != 1000; ++i) used(small);
    used(mebibyte);
    used(small, {.pinned = true});
    EXPECT_TRUE(under_way.end());
}

TEST_F(beside_a_capture, copies_are_evicted) {
    const std::uint64_t before = memory_in(where_).limit;
    std::vector<buffer> all;
    for (int i = 0; i != 4; ++i) all.push_back(used(mebibyte));
    limit_memory(where_, memory_in(where_).held + mebibyte);
    {
        capture under_way(captured_);
        for (int i = 0; i != 4; ++i) all.push_back(used(mebibyte));
        EXPECT_TRUE(under_way.end());
    }
    limit_memory(where_, before);
    for (buffer& each : all) EXPECT_TRUE(same(host_reads(each), noise(mebibyte)));
}

TEST_F(beside_a_capture, copies_go_to_another_device) {
    find_second();
    if (IsSkipped()) return;
    program there(second_);
    const queue on = cuda::queue_of(there.stream());
    const program here;
    buffer both = used(mebibyte, {.hint = memory_hint::gpu_preferred});
    both.read_write(where_, {.on = other_}).release();
    capture under_way(captured_);
    both.read(second_, {.on = on}).release();
    EXPECT_TRUE(under_way.end());
    both.mark_dirty(second_);
    EXPECT_TRUE(same(host_reads(both), noise(mebibyte)));
}

TEST_F(beside_a_capture, parts_are_moved) {
    buffer many = used(mebibyte);
    capture under_way(captured_);
    for (std::size_t i = 0; i != 4; ++i) many.write(host, {.offset = i * 8192, .count = 100}).release();
    many.read(where_, {.on = other_}).release();
    EXPECT_TRUE(under_way.end());
}

/// What was handed out is freed with the next access that names no stream.
TEST_F(beside_a_capture, memory_that_was_handed_out_is_freed_later) {
    const auto free_now = [&] { return memory_of(where_).free.value(); };
    device().trim();
    const std::uint64_t before = free_now();
    std::optional<buffer> gone = used(64 * mebibyte, {.hint = memory_hint::gpu_preferred});
    gone->device();
    EXPECT_LE(free_now(), before - 64 * mebibyte);
    gone.reset();
    buffer small_one = used(small);
    small_one.mark_host_dirty();
    small_one.read(where_).release();
    host_reads(small_one);
    device().trim();
    EXPECT_GT(free_now(), before - 64 * mebibyte);
}

}  // namespace
}  // namespace unibuf::contract
