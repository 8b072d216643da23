// tests/unit/statistics_test.cpp: every transfer is counted, with its cause; and what is held.
#include <map>
#include <tuple>
#include <utility>

#include "unit/common.hpp"

namespace unibuf::test::statistics_test {
namespace {

constexpr std::size_t size = 1000;

using kinds = std::map<std::tuple<std::string, std::string, cause>, std::pair<std::uint64_t, std::uint64_t>>;

kinds kinds_of(const statistics& all) {
    kinds result;
    for (const transfer_count& each : all.transfers) {
        const auto [at, added] =
            result.insert({{each.from.name(), each.to.name(), each.why}, {each.transfers, each.bytes}});
        EXPECT_TRUE(added) << "one line for each kind";
    }
    return result;
}

class recorder final : public transfer_observer {
public:
    recorder() { set_transfer_observer(this); }
    ~recorder() override { set_transfer_observer(nullptr); }
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;

    void on_transfer(const transfer& made) noexcept override { seen.push_back(made); }

    std::vector<transfer> seen;
};

class statistics_of_buffers : public testing::Test {
protected:
    const space device{"debug:0"};
    const default_device_is device_is_default{device};
    buffer b{size};
};

TEST_F(statistics_of_buffers, tell_source_target_and_cause) {
    put(b, noise(size));
    EXPECT_EQ(kinds_of(b.statistics()), kinds());
    kinds expected;
    const auto expect = [&](const space from, const space to, cause why, std::uint64_t bytes) {
        auto& kind = expected[{from.name(), to.name(), why}];
        kind.first += 1;
        kind.second += bytes;
        EXPECT_EQ(kinds_of(b.statistics()), expected);
    };
    b.read(device, {.offset = 0, .count = 100}).release();
    expect(host, device, cause::read, 100);
    b.read_write(device, {.offset = 100, .count = 50}).release();
    expect(host, device, cause::read_write, 50);
    b.prefetch(device, {.offset = 150, .count = 25});
    expect(host, device, cause::prefetch, 25);
    b.sync_to_device(200, 10);
    expect(host, device, cause::sync, 10);
    b.view(300, 5).device();
    expect(host, device, cause::device_handle, 5);
    const buffer part = b.view(100, 7);
    part.host();
    expect(device, host, cause::host_pointer, 7);
    bytes out(4);
    b.copy_to(out, 110);
    expect(device, host, cause::copy_to, 4);
    b.read(host, {.offset = 120, .count = 2}).release();
    expect(device, host, cause::read, 2);
    b.mark_device_dirty(0, 2);
    b.read_write(host, {.offset = 0, .count = 2}).release();
    expect(device, host, cause::read_write, 2);
    b.mark_device_dirty(10, 1);
    b.sync_to_host(0, 20);
    expect(device, host, cause::sync, 1);
    b.mark_device_dirty(10, 1);
    b.prefetch(host, {.count = 20});
    expect(device, host, cause::prefetch, 1);
    b.read(device, {.offset = 0, .count = 2}).release();
    expect(host, device, cause::read, 2);

    const std::uint64_t bytes_before = b.statistics().bytes_moved();
    b.write(host).release();
    b.write(device).release();
    b.copy_from(noise(size));
    b.fill(noise(1));
    b.mark_host_dirty();
    b.discard_content();
    EXPECT_EQ(b.statistics().bytes_moved(), bytes_before);
    EXPECT_EQ(b.statistics().transfers_made(), 12u);
    EXPECT_EQ(b.view(1, 2).statistics().transfers_made(), 12u) << "those of the whole buffer";
}

TEST_F(statistics_of_buffers, count_what_pieces_cost) {
    put(b, noise(size));
    for (std::size_t i = 0; i < 10; ++i) b.read(device, {.offset = i * 100, .count = 10}).release();
    EXPECT_EQ(b.statistics().transfers_made(), 10u);
    b.read(device).release();
    EXPECT_EQ(b.statistics().transfers_made(), 20u) << "the ten gaps";
    EXPECT_EQ(b.statistics().bytes_moved(), size);
    EXPECT_EQ(b.ranges(), 1u);
}

TEST_F(statistics_of_buffers, add_up) {
    reset_statistics();
    EXPECT_EQ(total_statistics().transfers_made(), 0u);
    buffer other(300);
    put(b, noise(size));
    put(other, noise(300));
    b.read(device).release();
    other.read(device).release();
    other.sync_to_device();
    put(other, noise(300), device);
    other.sync_to_host();
    EXPECT_EQ(kinds_of(total_statistics()), (kinds{{{"host", "debug:0", cause::read}, {2, size + 300}},
                                                   {{"debug:0", "host", cause::sync}, {1, 300}}}));
    {
        const buffer gone = std::move(other);
    }
    EXPECT_EQ(total_statistics().bytes_moved(), size + 600) << "those of buffers that are gone too";
    reset_statistics();
    EXPECT_EQ(total_statistics().bytes_moved(), 0u);
    EXPECT_EQ(total_statistics().publications, 0u);
    EXPECT_EQ(b.statistics().bytes_moved(), size) << "a buffer keeps its own";
}

TEST_F(statistics_of_buffers, count_publications_where_nothing_moves) {
    const default_device_is host_is_default(host);
    reset_statistics();
    put(b, noise(size));
    b.device();
    EXPECT_EQ(b.statistics().bytes_moved(), 0u);
    EXPECT_EQ(b.statistics().publications, total_statistics().publications);
    EXPECT_GT(b.statistics().publications, 0u);
    EXPECT_EQ(b.statistics().fence_waits, 0u);
}

TEST_F(statistics_of_buffers, have_names_for_causes) {
    EXPECT_EQ(to_string(cause::read), "read");
    EXPECT_EQ(to_string(cause::read_write), "read_write");
    EXPECT_EQ(to_string(cause::host_pointer), "host_pointer");
    EXPECT_EQ(to_string(cause::device_handle), "device_handle");
    EXPECT_EQ(to_string(cause::sync), "sync");
    EXPECT_EQ(to_string(cause::prefetch), "prefetch");
    EXPECT_EQ(to_string(cause::copy_to), "copy_to");
}

TEST_F(statistics_of_buffers, are_what_an_observer_sees) {
    const auto begin = std::chrono::steady_clock::now();
    put(b, noise(size));
    {
        recorder records;
        b.view(100, 50).read(device).release();
        b.sync_to_device();
        ASSERT_EQ(records.seen.size(), 3u);
        const transfer& first = records.seen[0];
        EXPECT_EQ(first.buffer, b.id());
        EXPECT_EQ(first.from, host);
        EXPECT_EQ(first.to, device);
        EXPECT_EQ(first.offset, 100u);
        EXPECT_EQ(first.bytes, 50u);
        EXPECT_EQ(first.why, cause::read);
        EXPECT_EQ(records.seen[1].offset, 0u);
        EXPECT_EQ(records.seen[1].bytes, 100u);
        EXPECT_EQ(records.seen[1].why, cause::sync);
        EXPECT_EQ(records.seen[2].offset, 150u);
        EXPECT_EQ(records.seen[2].bytes, 850u);
        auto before = begin;
        for (const transfer& each : records.seen) {
            EXPECT_LE(before, each.begin);
            EXPECT_LE(each.begin, each.end);
            before = each.begin;  // transfers of one access may be under way together
        }
        {
            recorder instead;
            b.mark_device_dirty();
            b.sync_to_host();
            EXPECT_EQ(instead.seen.size(), 1u);
        }
        b.mark_device_dirty();
        b.sync_to_host();
        EXPECT_EQ(records.seen.size(), 3u) << "there is one observer, and no memory of the one before";
    }
    b.mark_device_dirty();
    b.sync_to_host();
    EXPECT_EQ(b.statistics().transfers_made(), 6u);
}

TEST_F(statistics_of_buffers, tell_of_no_memory_that_could_not_be_had) {
    reset_peak_memory();
    buffer impossible(std::size_t{1} << 50);
    EXPECT_EQ(failure_of([&] { impossible.write(host); }).code, error_code::out_of_memory);
    EXPECT_EQ(memory_in(host).peak, memory_in(host).held);
    EXPECT_EQ(memory_in_all().peak, memory_in_all().held);
}

TEST_F(statistics_of_buffers, tell_what_is_held) {
    reset_peak_memory();
    const memory_usage at_host = memory_in(host);
    const memory_usage at_device = memory_in(device);
    const memory_usage all = memory_in_all();
    EXPECT_EQ(at_host.peak, at_host.held);
    EXPECT_EQ(all.peak, all.held);
    b.read(host).release();
    {
        buffer other(5000);
        other.read(host).release();
        other.read(device).release();
        EXPECT_EQ(memory_in(host).held, at_host.held + size + 5000);
        EXPECT_EQ(memory_in(device).held, at_device.held + 5000);
        EXPECT_EQ(memory_in_all().held, all.held + size + 10000);
        other.discard(host);
        EXPECT_EQ(memory_in(host).held, at_host.held + size);
    }
    EXPECT_EQ(memory_in(host).held, at_host.held + size);
    EXPECT_EQ(memory_in(host).peak, at_host.held + size + 5000);
    EXPECT_EQ(memory_in(device).held, at_device.held);
    EXPECT_EQ(memory_in(device).peak, at_device.held + 5000);
    EXPECT_EQ(memory_in_all().peak, all.held + size + 10000);
    reset_peak_memory();
    EXPECT_EQ(memory_in(host).peak, at_host.held + size);
    EXPECT_EQ(memory_in_all().peak, all.held + size);
}

}  // namespace
}  // namespace unibuf::test::statistics_test
