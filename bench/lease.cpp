// bench/lease.cpp: a lease of a copy that is current, taken and ended.
#include <unibuf/unibuf.hpp>

#include <mutex>

#include "race.hpp"

namespace bench::lease_bench {
namespace {

/// Measures against a mutex that nobody else wants.
bench::figures read_lease() {
    unibuf::unified_buffer<float> buffer(1024);
    buffer.fill(1);
    std::mutex mutex;
    return bench::in_ns(bench::race(bench::repeat([&buffer] {
                                        const auto lease = buffer.read(unibuf::host);
                                        benchmark::DoNotOptimize(lease.data());
                                    }),
                                    bench::repeat([&mutex] {
                                        const std::scoped_lock lock(mutex);
                                        benchmark::DoNotOptimize(&mutex);
                                    })));
}

const bench::declared current(
    {.name = "lease.current", .unit = "ns", .goal = bench::at_most(20), .cases = {{"read at host", read_lease}}});

}  // namespace
}  // namespace bench::lease_bench
