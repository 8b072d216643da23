// bench/cuda.cpp: whole transfers to and from a CUDA device, against the driver's own call between the same memories.
#include "cuda.hpp"

#include <fmt/format.h>
#include <unibuf/unibuf.hpp>

#include <cstring>
#include <span>
#include <vector>

#include "default_device.hpp"
#include "race.hpp"

namespace bench::cuda_bench {
namespace {

using namespace bench::cuda;

enum class way { to_device, to_host };

/// A buffer whose copies are both there and current, with the addresses that a program without the library has.
struct both_sides {
    both_sides(std::size_t bytes, bool pinned)
        : device(device_for(bytes)),
          buffer(bytes,
                 {.hint = unibuf::memory_hint::gpu_preferred, .device = unibuf::space("cuda:0"), .pinned = pinned}) {
        std::memset(buffer.write(unibuf::host).data(), 1, bytes);
        buffer.sync_to_device();
        there = buffer.device().handle;
        // Whoever writes it leaves the content as it is.
        auto lease = buffer.read(unibuf::host);
        here = {const_cast<std::byte*>(lease.data()), bytes};
    }

    bench::default_device device;
    unibuf::buffer buffer;
    std::uintptr_t there = 0;
    std::span<std::byte> here;
};

/// Measures a transfer until the bytes have arrived. Marking is not timed.
bench::figures whole(way direction, bool pinned, std::size_t bytes) {
    both_sides on(bytes, pinned);
    const stream plain;
    const auto rate = [&](const auto& mark, const auto& ours, const auto& plainly) {
        return bench::as_rate(bench::race(bench::repeat(mark, ours), bench::repeat(mark, plainly)),
                              static_cast<double>(bytes) / 1e9);
    };
    if (direction == way::to_device) {
        return rate([&] { on.buffer.mark_host_dirty(); }, [&] { on.buffer.sync_to_device(); },
                    [&] {
                        plain.to_device(on.there, on.here);
                        plain.wait();
                    });
    }
    return rate([&] { on.buffer.mark_device_dirty(); }, [&] { on.buffer.sync_to_host(); },
                [&] {
                    plain.to_host(on.here, on.there);
                    plain.wait();
                });
}

std::string size_text(std::size_t bytes) {
    if (bytes >= gib) return fmt::format("{} GiB", bytes / gib);
    return bytes >= mib ? fmt::format("{} MiB", bytes / mib) : fmt::format("{} KiB", bytes / kib);
}

std::vector<bench::situation> each_way(bool pinned, const std::vector<std::size_t>& sizes) {
    std::vector<bench::situation> cases;
    for (const auto& [name, which] : {std::pair("to device", way::to_device), {"to host", way::to_host}}) {
        for (const std::size_t bytes : sizes) {
            cases.push_back({fmt::format("{}, {}", name, size_text(bytes)),
                             [direction = which, pinned, bytes] { return whole(direction, pinned, bytes); }});
        }
    }
    return cases;
}

const std::vector<std::size_t> small = {4 * kib, 64 * kib, mib};
const std::vector<std::size_t> large = {16 * mib, 64 * mib, 256 * mib, gib, 4 * gib};

// The claims are for 16 MiB and more: below, what a call costs counts as much as the bytes.
const bench::declared pinned({.name = "cuda.pinned.bandwidth",
                              .unit = "GB/s",
                              .goal = bench::ratio_at_least(0.97),
                              .cases = each_way(true, large)});
const bench::declared pinned_small(
    {.name = "cuda.pinned.small", .unit = "GB/s", .goal = bench::ratio_at_least(0.8), .cases = each_way(true, small)});
const bench::declared pageable({.name = "cuda.pageable.bandwidth",
                                .unit = "GB/s",
                                .goal = bench::ratio_at_least(0.97),
                                .cases = each_way(false, large)});
const bench::declared pageable_small({.name = "cuda.pageable.small",
                                      .unit = "GB/s",
                                      .goal = bench::ratio_at_least(0.8),
                                      .cases = each_way(false, small)});

}  // namespace
}  // namespace bench::cuda_bench
