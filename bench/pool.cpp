// bench/pool.cpp: the cost of a pool, and what it spares.
#include <dlfcn.h>
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "race.hpp"

namespace bench::pool_bench {
namespace {

constexpr std::size_t bytes = 1 << 16;

/// Measures against memory alone, from a heap.
bench::figures pair_beside(const bench::body& heap) {
    unibuf::memory_pool pool;
    pool.reserve(1, bytes);
    return bench::in_ns(bench::race(bench::repeat([&pool] {
                                        unibuf::buffer taken = pool.acquire(bytes);
                                        benchmark::DoNotOptimize(taken);
                                        pool.release(std::move(taken));
                                    }),
                                    heap));
}

bench::figures pair() {
    return pair_beside(bench::repeat([] {
        std::unique_ptr<std::byte[]> taken(new std::byte[bytes]);
        benchmark::DoNotOptimize(taken.get());
    }));
}

struct mimalloc {
    void* (*take)(std::size_t);
    void (*give_back)(void*);
};

/// Loads mimalloc by itself: a program that is linked with it has its malloc, and its operator new, in all other
/// figures too.
mimalloc load_mimalloc() {
    const std::string library = UNIBUF_MIMALLOC;
    if (library.empty()) {
        throw unibuf::error(unibuf::error_code::device_unavailable,
                            "libmimalloc-dev was not found when the benchmarks were configured");
    }
    void* const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!loaded) throw std::runtime_error(::dlerror());
    const auto find = [&](const char* name) {
        void* const found = ::dlsym(loaded, name);
        if (!found) throw std::runtime_error(library + " has no " + name);
        return found;
    };
    return {reinterpret_cast<void* (*)(std::size_t)>(find("mi_malloc")),
            reinterpret_cast<void (*)(void*)>(find("mi_free"))};
}

bench::figures pair_beside_mimalloc() {
    return pair_beside(bench::repeat([heap = load_mimalloc()] {
        void* const taken = heap.take(bytes);
        benchmark::DoNotOptimize(taken);
        heap.give_back(taken);
    }));
}

/// Measures against a buffer that is made each time, and written at the host.
bench::figures used_pair() {
    unibuf::memory_pool pool;
    return bench::in_ns(bench::race(bench::repeat([&pool] {
                                        unibuf::buffer taken = pool.acquire(bytes);
                                        benchmark::DoNotOptimize(taken.write(unibuf::host).data());
                                        pool.release(std::move(taken));
                                    }),
                                    bench::repeat([] {
                                        unibuf::buffer made(bytes);
                                        benchmark::DoNotOptimize(made.write(unibuf::host).data());
                                    })));
}

/// Measures one thread among eight that do nothing else, in its own time, as if each had a core, against one thread
/// alone.
bench::figures pair_among_threads() {
    static constexpr unsigned threads = 8;
    static constexpr int rounds = 200'000;
    unibuf::memory_pool pool;
    const auto work = [&pool] {
        for (int i = 0; i < rounds; ++i) pool.release(pool.acquire(bytes));
    };
    const auto cpu_seconds = [] {
        timespec now{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
    };
    const auto timed = [&] {
        const double begin = cpu_seconds();
        work();
        return (cpu_seconds() - begin) / rounds;
    };
    bench::seconds best{.measured = 1, .limit = 1};
    for (int i = 0; i < 5; ++i) {
        best.limit = std::min(best.limit, timed());
        std::vector<double> each(threads);
        {
            std::vector<std::jthread> running;
            running.reserve(threads);
            for (double& mine : each) running.emplace_back([&] { mine = timed(); });
        }
        double sum = 0;
        for (const double mine : each) sum += mine;
        best.measured = std::min(best.measured, sum / threads);
    }
    return bench::in_ns(best);
}

/// Measures what a program does again and again: it writes a buffer through a pointer, and uses it elsewhere. The limit
/// is a buffer that is made each time.
bench::figures loop(const char* name, std::size_t size) {
    const unibuf::space where(name);
    unibuf::memory_pool pool;
    const auto use = [where, size](unibuf::buffer& of) {
        std::memset(of.host(), 1, size);
        benchmark::DoNotOptimize(of.read(where).native().handle);
    };
    return bench::in_ns(bench::race(bench::repeat([&] {
                                        unibuf::buffer taken = pool.acquire(size);
                                        use(taken);
                                        pool.release(std::move(taken));
                                    }),
                                    bench::repeat([&] {
                                        unibuf::buffer made(size);
                                        use(made);
                                    })));
}

std::vector<bench::situation> loops() {
    std::vector<bench::situation> result;
    for (const char* const where : {"host", "debug:0", "opencl:0"}) {
        for (const std::size_t kibibytes : {4U, 64U, 1U << 10, 16U << 10, 64U << 10}) {
            result.push_back({std::to_string(kibibytes) + " KiB, " + where,
                              [where, kibibytes] { return loop(where, kibibytes << 10); }});
        }
    }
    return result;
}

const bench::declared pairs({.name = "pool.pair",
                             .unit = "ns",
                             .goal = bench::ratio_at_most(2),
                             .cases = {{"64 KiB, acquired and released", pair}}});

const bench::declared pairs_beside_mimalloc({.name = "pool.pair.mimalloc",
                                             .unit = "ns",
                                             .goal = bench::ratio_at_most(5),
                                             .cases = {{"64 KiB, mi_malloc and mi_free", pair_beside_mimalloc}}});

const bench::declared used({.name = "pool.pair.used",
                            .unit = "ns",
                            .goal = bench::ratio_at_most(0.2),
                            .cases = {{"64 KiB, with a host lease in between", used_pair}}});

const bench::declared among_threads({.name = "pool.pair_8_threads",
                                     .unit = "ns",
                                     .goal = bench::ratio_at_most(4),
                                     .cases = {{"8 threads, by the time that each had", pair_among_threads}}});

// A new buffer of huge pages is zeroed page by page, each just before it is written; one that was used is zeroed
// before. Where the last cache holds all of it, and the one before does not, that is another pass through the last:
// seen at 1.14.
const bench::declared used_in_a_loop(
    {.name = "pool.loop", .unit = "ns", .goal = bench::ratio_at_most(1.2), .cases = loops()});

}  // namespace
}  // namespace bench::pool_bench
