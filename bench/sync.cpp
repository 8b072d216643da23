// bench/sync.cpp: the cost of a transfer beside the bytes that it moves.
#include <unibuf/unibuf.hpp>

#include <array>
#include <cstring>

#include "default_device.hpp"
#include "race.hpp"

namespace bench::sync_bench {
namespace {

/// Measures one cache line marked and sent. The limit, the copy of a cache line, is taken off.
bench::figures bookkeeping() {
    const bench::default_device debug("debug:0");
    unibuf::unified_buffer<std::byte> buffer(64);
    buffer.fill(std::byte{1});
    buffer.sync_to_device();
    std::array<std::byte, 64> from{};
    std::array<std::byte, 64> to{};
    bench::figures taken = bench::in_ns(bench::race(bench::repeat([&buffer] {
                                                        buffer.mark_host_dirty();
                                                        buffer.sync_to_device();
                                                    }),
                                                    bench::repeat([&from, &to] {
                                                        benchmark::DoNotOptimize(from);
                                                        std::memcpy(to.data(), from.data(), from.size());
                                                        benchmark::DoNotOptimize(to);
                                                    })));
    taken.measured -= taken.limit;
    return taken;
}

const bench::declared sync_bookkeeping({.name = "sync.bookkeeping",
                                        .unit = "ns",
                                        .goal = bench::at_most(1000),
                                        .cases = {{"64 bytes to debug:0", bookkeeping}}});

}  // namespace
}  // namespace bench::sync_bench
