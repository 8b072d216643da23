// tests/contract/cuda/captures_test.cpp: a program's capture stays whole, whatever unibuf frees and moves beside it.
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "contract/cuda/fixture.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf::contract::captures_test {
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

/// What was handed out is freed with the next access that names no stream. The driver takes and gives back memory some
/// tens of MiB at a time.
TEST_F(beside_a_capture, memory_that_was_handed_out_is_freed_later) {
    constexpr std::size_t large = 256 * mebibyte;
    const auto is_taken = [&, before = memory_of(where_).free.value()] {
        return memory_of(where_).free.value() < before - large / 2;
    };
    std::optional<buffer> gone = mirrored(large);
    gone->discard_content();
    gone->write(where_).release();
    gone->device();
    EXPECT_TRUE(is_taken());
    gone.reset();
    buffer small_one = used(small);
    small_one.mark_host_dirty();
    small_one.read(where_).release();
    host_reads(small_one);
    device().trim();
    EXPECT_FALSE(is_taken());
}

/// A graph that uploads what the host has, and copies it on the device to where the test finds it.
class captured_uploads : public beside_a_capture {
protected:
    static bytes of(unsigned char value) { return bytes(mebibyte, std::byte{value}); }

    buffer input(const buffer_options& options = {.hint = memory_hint::gpu_preferred, .pinned = true}) const {
        buffer made(mebibyte, options);
        host_writes(made, of(1));
        return made;
    }

    copy_view capture_upload(buffer& from) const {
        return from.capture_upload(where_, {.on = cuda::queue_of(captured_)});
    }

    /// Returns a graph of one upload, and of a kernel that reads what has come.
    graph uploading(buffer& from, std::optional<copy_view>& kept) {
        capture under_way(captured_);
        kept.emplace(capture_upload(from));
        by_->copy(captured_, address_of(*seen_), address_of(*kept), mebibyte);
        return under_way.end_as_graph();
    }

    void SetUp() override {
        beside_a_capture::SetUp();
        if (IsSkipped()) return;
        output_.emplace(mebibyte, buffer_options{.hint = memory_hint::gpu_preferred});
        host_writes(*output_, of(0));
        seen_.emplace(output_->copy_view(where_));
    }

    /// Returns what the graph's kernel has read. Nobody orders launches but the program.
    bytes launched(const graph& uploads) {
        device().record(other_).wait();
        uploads.launch(captured_);
        device().record(cuda::queue_of(captured_)).wait();
        output_->mark_dirty(where_);
        return host_reads(*output_);
    }

    std::optional<buffer> output_;
    std::optional<copy_view> seen_;
};

TEST_F(captured_uploads, bring_what_the_host_has_at_each_launch) {
    buffer from = input();
    std::optional<copy_view> kept;
    const graph uploads = uploading(from, kept);
    for (unsigned char value = 1; value != 4; ++value) {
        host_writes(from, of(value));
        EXPECT_TRUE(same(launched(uploads), of(value)));
    }
    std::ranges::fill(std::span(from.host(), mebibyte), std::byte{9});
    EXPECT_TRUE(same(launched(uploads), of(9)));
    EXPECT_TRUE(same(host_reads(from), of(9)));
}

TEST_F(captured_uploads, change_no_state_and_move_nothing) {
    buffer from = input();
    const std::uint64_t before = from.statistics().transfers_made();
    std::optional<copy_view> kept;
    {
        const graph uploads = uploading(from, kept);
        launched(uploads);
    }
    EXPECT_EQ(from.statistics().transfers_made(), before);
    const auto lease = from.read(where_, {.on = other_});
    EXPECT_GT(from.statistics().transfers_made(), before);
}

TEST_F(captured_uploads, keep_both_copies_where_they_are) {
    buffer from = input();
    std::optional<copy_view> kept;
    const graph uploads = uploading(from, kept);
    EXPECT_EQ(code_of([&] { from.discard(where_); }), error_code::access_conflict);
    from.read(where_, {.on = other_}).release();
    EXPECT_EQ(code_of([&] { from.discard(host); }), error_code::access_conflict);
    from = buffer(1);
    EXPECT_TRUE(same(launched(uploads), of(1)));
}

TEST_F(captured_uploads, leave_the_bytes_to_the_host) {
    buffer from = input();
    std::optional<copy_view> kept;
    const graph uploads = uploading(from, kept);
    std::string message;
    EXPECT_EQ(code_of([&] { from.read_write(where_, {.on = other_}); }, &message), error_code::access_conflict);
    EXPECT_NE(message.find("a graph of the program uploads bytes [0, 1048576) from the host to cuda:0"),
              std::string::npos)
        << message;
    EXPECT_EQ(code_of([&] { from.mark_dirty(where_); }), error_code::access_conflict);
    EXPECT_EQ(code_of([&] { from.bind(where_, access::read_write, {.on = other_}); }), error_code::access_conflict);
    buffer other = input();
    const std::array<wanted_byte_lease, 2> wanted{
        {{&other, where_, access::read, {.on = other_}}, {&from, where_, access::write, {.on = other_}}}};
    std::array<byte_lease, 2> taken;
    EXPECT_EQ(code_of([&] { lease_together(wanted, taken); }), error_code::access_conflict);
    EXPECT_EQ(other.statistics().bytes_moved(), 0u);
    from.fill(bytes(1, std::byte{5}));
    EXPECT_TRUE(same(launched(uploads), of(5)));
    kept.reset();
    from.read_write(where_, {.on = other_}).release();
    EXPECT_TRUE(same(host_reads(from), of(5)));
}

TEST_F(captured_uploads, that_refuse_a_mark_keep_what_was_written_through_pointers) {
    buffer from = input();
    std::byte* const data = from.host();
    data[0] = std::byte{2};
    from.read(where_, {.on = other_}).release();
    std::optional<copy_view> kept;
    const graph uploads = uploading(from, kept);
    data[0] = std::byte{3};
    EXPECT_EQ(code_of([&] { from.mark_dirty(where_); }), error_code::access_conflict);
    from.sync_to_host();
    from.read(where_, {.on = other_}).release();
    const copy_view held = from.copy_view(where_);
    by_->copy(captured_, address_of(*seen_), address_of(held), mebibyte);
    device().record(cuda::queue_of(captured_)).wait();
    output_->mark_dirty(where_);
    EXPECT_EQ(host_reads(*output_)[0], std::byte{3});
}

TEST_F(captured_uploads, bring_zeros_once_the_content_is_discarded) {
    buffer from = input();
    std::optional<copy_view> kept;
    const graph uploads = uploading(from, kept);
    from.discard_content();
    from.read(where_, {.on = other_}).release();
    EXPECT_TRUE(same(launched(uploads), of(0)));
    EXPECT_TRUE(same(host_reads(from), of(0)));
}

/// What is under way on the device, and what is on its way from there, would meet the first launch.
TEST_F(captured_uploads, begin_when_earlier_work_is_done) {
    buffer from = input();
    const stream_handle busy = by_->stream();
    const queue on = cuda::queue_of(busy);
    gate closed(*by_, busy);
    {
        const auto lease = from.read_write(where_, {.on = on});
        by_->set(busy, address_of(lease), 4, mebibyte);
    }
    from.prefetch(host, {.on = on});
    std::atomic<bool> opened = false;
    std::jthread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        opened = true;
        closed.open();
    });
    std::optional<copy_view> kept;
    const graph uploads = uploading(from, kept);
    EXPECT_TRUE(opened);
    EXPECT_TRUE(same(launched(uploads), of(4)));
}

TEST_F(captured_uploads, of_a_part_leave_the_rest_alone) {
    buffer from = input();
    std::optional<copy_view> kept;
    {
        capture under_way(captured_);
        kept.emplace(from.capture_upload(where_, {.offset = 4096, .count = 100, .on = cuda::queue_of(captured_)}));
        EXPECT_TRUE(under_way.end());
    }
    from.write(where_, {.offset = 0, .count = 4096, .on = other_}).release();
    from.write(where_, {.offset = 4196, .on = other_}).release();
    EXPECT_EQ(code_of([&] { from.write(where_, {.offset = 4195, .on = other_}); }), error_code::access_conflict);
}

TEST_F(captured_uploads, are_refused_with_the_reason) {
    const auto refusal = [&](buffer& from, error_code wanted) {
        std::string message;
        EXPECT_EQ(code_of([&] { capture_upload(from); }, &message), wanted) << message;
        return message;
    };
    buffer fine = input();
    EXPECT_NE(refusal(fine, error_code::invalid_argument).find("no stream that is being captured"), std::string::npos);
    EXPECT_EQ(code_of([&] { fine.capture_upload(where_, {}); }), error_code::invalid_argument);

    buffer newer = input();
    newer.read_write(where_, {.on = other_}).release();
    buffer written = input();
    const standing_hold hold = written.bind(where_, access::read_write, {.on = other_});
    buffer pageable = input({.hint = memory_hint::gpu_preferred});
    {
        capture under_way(captured_);
        EXPECT_NE(refusal(newer, error_code::unsupported).find("does not have the newest"), std::string::npos);
        EXPECT_NE(refusal(written, error_code::access_conflict).find("a standing hold at cuda:0"), std::string::npos);
        EXPECT_NE(refusal(pageable, error_code::unsupported).find("not pinned"), std::string::npos);
        EXPECT_TRUE(under_way.end());
    }
    for (buffer* each : {&fine, &newer, &pageable}) {
        each->read_write(where_, {.on = other_}).release();
        EXPECT_TRUE(same(host_reads(*each), of(1)));
    }
}

TEST_F(captured_uploads, are_of_cuda) {
    buffer from(mebibyte);
    host_writes(from, of(1));
    for (const space each : {space("host"), space("debug:0")}) {
        EXPECT_EQ(code_of([&] { from.capture_upload(each, {.on = cuda::queue_of(captured_)}); }),
                  error_code::unsupported);
    }
    from.read_write(space("debug:0")).release();
}

/// There is nothing to upload where the device uses the host's memory.
TEST_F(captured_uploads, of_shared_memory_are_views) {
    buffer from = input({.hint = memory_hint::cpu_preferred});
    from.read(where_, {.on = other_}).release();
    if (from.placement(where_).placement != placement::shared) GTEST_SKIP() << from.placement(where_).reason;
    std::optional<copy_view> kept;
    const graph reads = uploading(from, kept);
    for (unsigned char value = 1; value != 4; ++value) {
        host_writes(from, of(value));
        EXPECT_TRUE(same(launched(reads), of(value)));
    }
    from.read_write(where_, {.on = other_}).release();
}

}  // namespace
}  // namespace unibuf::contract::captures_test
