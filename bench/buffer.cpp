// bench/buffer.cpp: what a buffer costs beside its contents.
#include <unibuf/unibuf.hpp>

#include <new>
#include <vector>

#include "heap.hpp"
#include "race.hpp"

namespace bench::buffer_bench {
namespace {

using unibuf::unified_buffer;

std::size_t heap_bytes_of_construction() {
    const std::ptrdiff_t before = bench::heap_bytes();
    const unified_buffer<float> buffer({64, 64});
    return static_cast<std::size_t>(bench::heap_bytes() - before);
}

/// Measures against the heap alone: as many bytes are taken and given back.
bench::figures construct() {
    const std::size_t bytes = heap_bytes_of_construction();
    return bench::in_ns(bench::race(bench::repeat([] {
                                        unified_buffer<float> buffer({64, 64});
                                        benchmark::DoNotOptimize(buffer);
                                    }),
                                    bench::repeat([bytes] {
                                        void* const taken = ::operator new(bytes);
                                        benchmark::DoNotOptimize(taken);
                                        ::operator delete(taken);
                                    })));
}

/// The state of a program that tracks its copies by hand.
struct tracked_by_hand {
    std::vector<float> host;
    void* device;
    bool host_dirty;
    bool device_dirty;
};

std::ptrdiff_t heap_bytes_with_copies() {
    const std::ptrdiff_t before = bench::heap_bytes();
    unibuf::buffer buffer(bench::contents);
    buffer.write(unibuf::host).data();
    buffer.read("debug:0").data();
    return bench::heap_bytes() - before;
}

/// Measures the handle, and all that the heap gave for it: host pages are mapped and do not come from there, and the
/// debug device's copy is large enough to be known as contents.
bench::figures bookkeeping() {
    heap_bytes_with_copies();  // what is set up once in a process is not counted as a buffer's
    const std::ptrdiff_t heap = heap_bytes_with_copies();
    return {static_cast<double>(heap) + static_cast<double>(sizeof(unibuf::buffer)), sizeof(tracked_by_hand)};
}

const bench::declared construction({.name = "buffer.construct",
                                    .unit = "ns",
                                    .goal = bench::ratio_at_most(4),
                                    .cases = {{"4096 elements", construct}}});

const bench::declared bytes({.name = "buffer.bytes",
                             .unit = "bytes",
                             .goal = bench::at_most(512),
                             .cases = {{"copies at host and debug:0", bookkeeping}}});

}  // namespace
}  // namespace bench::buffer_bench
