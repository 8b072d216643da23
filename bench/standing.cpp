// bench/standing.cpp: a device that may write at any time, and a host that writes beside it.
#include <unibuf/opencl.hpp>
#include <unibuf/unibuf.hpp>

#include <cstddef>
#include <vector>

#include "opencl.hpp"
#include "race.hpp"

namespace bench::standing_bench {
namespace {

constexpr std::size_t size = std::size_t{1} << 20;
constexpr std::size_t piece = 4096;

/// Measures a write of the host to a piece of a buffer that is bound, and reading it back: the device may have changed
/// it meanwhile. The limit is that by hand: a fence of the device's work, and a copy each way.
bench::figures write_and_back() {
    const unibuf::space device("opencl:0");
    const unibuf::buffer_options mirrored{.hint = unibuf::memory_hint::gpu_preferred};
    const std::vector<std::byte> there(piece, std::byte{1});
    std::vector<std::byte> back(piece);

    unibuf::buffer bound(size, mirrored);
    bound.copy_from(std::vector<std::byte>(size));
    const unibuf::standing_hold hold = bound.bind(device, unibuf::access::read_write);

    unibuf::buffer plain(size, mirrored);
    const auto lease = plain.write(device);
    _cl_command_queue* const queue = unibuf::opencl::handles_of(device).queue;
    _cl_mem* const memory = unibuf::opencl::memory(lease);

    const auto by_library = bench::repeat([&] {
        bound.copy_from(there);
        bound.copy_to(back);
    });
    const auto by_hand = bench::repeat([&] {
        unibuf::record_fence(device).wait();
        bench::opencl::write(queue, memory, there);
        unibuf::record_fence(device).wait();
        bench::opencl::read(queue, memory, back);
    });
    return bench::in_ns(bench::race(by_library, by_hand));
}

const bench::declared standing({.name = "standing.write",
                                .unit = "ns",
                                .goal = bench::ratio_at_most(2),
                                .cases = {{"4 KiB there and back, bound at opencl:0", write_and_back}}});

}  // namespace
}  // namespace bench::standing_bench
