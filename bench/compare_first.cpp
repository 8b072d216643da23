// bench/compare_first.cpp: what it would cost to look first whether a rewrite has left all values as they were.
#include <unibuf/unibuf.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "default_device.hpp"
#include "race.hpp"

namespace bench::compare_first_bench {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t bytes = std::size_t{64} << 20;

/// Mixes four numbers at once, as one after the other waits for each multiplication.
std::uint64_t mixed(const std::byte* of) {
    std::uint64_t sums[4] = {1, 2, 3, 4};
    for (std::size_t at = 0; at < page; at += sizeof sums) {
        std::uint64_t next[4];
        std::memcpy(next, of + at, sizeof next);
        for (int i = 0; i < 4; ++i) sums[i] = (sums[i] ^ next[i]) * 0x9E3779B97F4A7C15U;
    }
    return sums[0] ^ sums[1] << 1U ^ sums[2] << 2U ^ sums[3] << 3U;
}

/// Measures a number for each page, which is the least that comparing takes, against the transfer that it may spare.
bench::figures numbers_of_pages(const char* device) {
    const bench::default_device there(device);
    unibuf::buffer buffer(bytes, {.hint = unibuf::memory_hint::gpu_preferred});
    std::memset(buffer.write(unibuf::host).data(), 1, bytes);
    buffer.device();
    std::vector<std::byte> rewritten(bytes, std::byte{1});
    std::vector<std::uint64_t> numbers(bytes / page);
    return bench::in_ns(bench::race(bench::repeat([&] {
                                        for (std::size_t i = 0; i < numbers.size(); ++i) {
                                            numbers[i] = mixed(rewritten.data() + i * page);
                                        }
                                        benchmark::DoNotOptimize(numbers.data());
                                    }),
                                    bench::repeat([&] { buffer.mark_host_dirty(); }, [&] { buffer.device(); })));
}

// It would pay where it cost a small part of a transfer.
const bench::declared compare_first({.name = "tracking.compare_first",
                                     .unit = "ns",
                                     .goal = bench::ratio_at_least(0.25),
                                     .cases = {{"64 MiB to debug:0", [] { return numbers_of_pages("debug:0"); }},
                                               {"64 MiB to opencl:0", [] { return numbers_of_pages("opencl:0"); }}}});

}  // namespace
}  // namespace bench::compare_first_bench
