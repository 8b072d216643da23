// bench/transfer.cpp: how fast bytes move from the host to a device.
#include <fmt/format.h>
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

#include "by_hand.hpp"
#include "default_device.hpp"
#include "race.hpp"

namespace bench::transfer_bench {
namespace {

using unibuf::unified_buffer;

constexpr std::size_t mib = std::size_t{1} << 20;

/// Measures a transfer. Both ways go between the same pages, all touched before, so that neither is lucky with its
/// memory. Marking is not timed, but comes before both: debug:0 poisons what is stale, which leaves its copy in the
/// cache.
bench::figures whole(unibuf::space where, std::size_t bytes, bench::by_hand* plainly) {
    const bench::default_device device(where);
    unibuf::buffer buffer(bytes, {.hint = unibuf::memory_hint::gpu_preferred});
    std::memset(buffer.write(unibuf::host).data(), 1, bytes);
    buffer.sync_to_device();
    const unibuf::native_memory to = buffer.device();
    const std::span from(std::as_const(buffer).host(), bytes);

    const int rounds = static_cast<int>(std::max<std::size_t>(64, 4096 * mib / bytes));
    return bench::as_rate(bench::in_typical_turns(
                              rounds, [&buffer] { buffer.sync_to_device(); }, [&] { plainly(from, to); },
                              [&buffer] { buffer.mark_host_dirty(); }),
                          static_cast<double>(bytes) / 1e9);
}

std::vector<bench::situation> to_each_device() {
    std::vector<bench::situation> cases;
    for (const auto& [name, by] : {std::pair("debug:0", &bench::by_memcpy), std::pair("opencl:0", &bench::by_opencl)}) {
        for (const std::size_t size : {16U, 64U, 256U}) {
            cases.push_back({fmt::format("{} MiB to {}", size, name),
                             [where = name, plainly = by, size] { return whole(where, size * mib, plainly); }});
        }
    }
    return cases;
}

/// Measures one element of 256 MiB changed and fetched, against all of it.
bench::figures one_element() {
    const bench::default_device debug("debug:0");
    unified_buffer<float> buffer(256 * mib / sizeof(float));
    buffer.fill(1);
    buffer.sync_to_device();
    const std::size_t middle = buffer.size() / 2;
    return bench::in_ns(bench::race(bench::repeat([&buffer, middle] {
                                        buffer.mark_host_dirty(middle, 1);
                                        benchmark::DoNotOptimize(buffer.device());
                                    }),
                                    bench::repeat([&buffer] { buffer.mark_host_dirty(); },
                                                  [&buffer] { benchmark::DoNotOptimize(buffer.device()); })));
}

const bench::declared bandwidth(
    {.name = "transfer.bandwidth", .unit = "GB/s", .goal = bench::ratio_at_least(0.97), .cases = to_each_device()});

const bench::declared element({.name = "transfer.one_element",
                               .unit = "ns",
                               .goal = bench::ratio_at_most(0.01),
                               .cases = {{"one of 256 MiB", one_element}}});

}  // namespace
}  // namespace bench::transfer_bench
