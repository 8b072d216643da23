// bench/cuda_parts.cpp: the cost of transfers where only parts of a buffer move, and of work that goes on meanwhile.
#include <fmt/format.h>
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "cuda.hpp"
#include "default_device.hpp"
#include "race.hpp"

namespace bench::cuda_parts_bench {
namespace {

using namespace bench::cuda;

constexpr std::size_t page = 4 * kib;

unibuf::buffer pinned_buffer(std::size_t bytes) {
    unibuf::buffer made(
        bytes, {.hint = unibuf::memory_hint::gpu_preferred, .device = unibuf::space("cuda:0"), .pinned = true});
    std::memset(made.write(unibuf::host).data(), 1, bytes);
    made.sync_to_device();
    return made;
}

bench::figures device_handle() {
    const bench::default_device device(device_for(mib));
    unibuf::buffer buffer = pinned_buffer(mib);
    static void* content = &content;
    void* volatile* const pointer = &content;
    return bench::in_ns(bench::race(bench::repeat([&buffer] { benchmark::DoNotOptimize(buffer.device().handle); }),
                                    bench::repeat([pointer] {
                                        void* const loaded = *pointer;
                                        benchmark::DoNotOptimize(loaded);
                                    })));
}

/// Measures a mark and a sync of one cache line. The limit, the driver's own transfer of it, is taken off.
bench::figures bookkeeping() {
    constexpr std::size_t line = 64;
    const bench::default_device device(device_for(page));
    unibuf::buffer buffer = pinned_buffer(line);
    const std::uintptr_t there = buffer.device().handle;
    const std::span from(std::as_const(buffer).host(), line);
    const stream plain;
    bench::figures taken = bench::in_ns(bench::race(bench::repeat([&buffer] {
                                                        buffer.mark_host_dirty();
                                                        buffer.sync_to_device();
                                                    }),
                                                    bench::repeat([&] {
                                                        plain.to_device(there, from);
                                                        plain.wait();
                                                    })));
    taken.measured -= taken.limit;
    return taken;
}

/// Measures one page of 4 GiB changed and fetched, against all of it.
bench::figures one_page() {
    constexpr std::size_t all = 4 * gib;
    const bench::default_device device(device_for(all));
    unibuf::buffer buffer = pinned_buffer(all);
    return bench::in_ns(bench::race(
        bench::repeat([&buffer] { buffer.mark_host_dirty(all / 2, page); }, [&buffer] { buffer.sync_to_device(); }),
        bench::repeat([&buffer] { buffer.mark_host_dirty(); }, [&buffer] { buffer.sync_to_device(); })));
}

/// Measures every other page of 2,000 sent by one access, against a call of the driver for each.
bench::figures many_pages() {
    constexpr std::size_t changed = 1000;
    constexpr std::size_t all = 2 * changed * page;
    const bench::default_device device(device_for(all));
    unibuf::buffer buffer = pinned_buffer(all);
    const std::uintptr_t there = buffer.device().handle;
    const std::span from(std::as_const(buffer).host(), all);
    const stream plain;
    const auto mark = [&buffer] {
        for (std::size_t i = 0; i < changed; ++i) buffer.mark_host_dirty(2 * i * page, page);
    };
    return bench::in_ns(bench::race(bench::repeat(mark, [&buffer] { buffer.sync_to_device(); }),
                                    bench::repeat([] {},
                                                  [&] {
                                                      for (std::size_t i = 0; i < changed; ++i) {
                                                          const std::size_t at = 2 * i * page;
                                                          plain.to_device(there + at, from.subspan(at, page));
                                                      }
                                                      plain.wait();
                                                  })));
}

template <class Work>
double seconds_of(const Work& work) {
    double fastest = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 5; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        fastest = std::min(fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return fastest;
}

/// Measures a prefetch on one stream beside work on another, which takes about as long, against the longer of the two
/// alone.
bench::figures overlap() {
    constexpr std::size_t all = 64 * mib;
    const unibuf::space where = device_for(2 * all);
    const bench::default_device device(where);
    unibuf::buffer moving = pinned_buffer(all);
    unibuf::buffer standing = pinned_buffer(all);
    const std::uintptr_t there = standing.device().handle;
    const stream transfers;
    const stream kernels;
    const auto transfer = [&] {
        moving.prefetch(where, {.on = transfers.as_queue()});
        transfers.wait();
    };
    const auto mark = [&] { moving.mark_host_dirty(); };
    const double transfer_takes = seconds_of([&] {
        mark();
        transfer();
    });
    const double one_takes = seconds_of([&] {
        kernels.set(there, all);
        kernels.wait();
    });
    const int count = std::max(1, static_cast<int>(std::lround(transfer_takes / one_takes)));
    const auto start_work = [&] {
        for (int i = 0; i < count; ++i) kernels.set(there, all);
    };
    const double work_takes = seconds_of([&] {
        start_work();
        kernels.wait();
    });
    const auto alone = [&] {
        if (transfer_takes >= work_takes) return transfer();
        start_work();
        kernels.wait();
    };
    return bench::in_ns(bench::race(bench::repeat(mark,
                                                  [&] {
                                                      start_work();
                                                      transfer();
                                                      kernels.wait();
                                                  }),
                                    bench::repeat(mark, alone)));
}

const bench::declared access_current(
    {.name = "cuda.access.current", .unit = "ns", .goal = bench::at_most(2), .cases = {{"device()", device_handle}}});
const bench::declared sync_bookkeeping({.name = "cuda.bookkeeping",
                                        .unit = "ns",
                                        .goal = bench::at_most(1000),
                                        .cases = {{"64 bytes to device", bookkeeping}}});
const bench::declared page_of_all({.name = "cuda.one_page",
                                   .unit = "ns",
                                   .goal = bench::ratio_at_most(0.01),
                                   .cases = {{"4 KiB of 4 GiB", one_page}}});
const bench::declared pages({.name = "cuda.1000_pages",
                             .unit = "ns",
                             .goal = bench::ratio_at_most(1),
                             .cases = {{"every other of 2000", many_pages}}});
const bench::declared beside({.name = "cuda.overlap",
                              .unit = "ns",
                              .goal = bench::ratio_at_most(1.1),
                              .cases = {{"64 MiB beside memsets", overlap}}});

}  // namespace
}  // namespace bench::cuda_parts_bench
