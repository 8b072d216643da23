// bench/directory.cpp: access to a buffer whose directory tells many ranges apart.
#include <unibuf/unibuf.hpp>

#include <stdexcept>

#include "race.hpp"

namespace bench::directory_bench {
namespace {

constexpr std::size_t block = 64;

/// Makes a buffer of `ranges` blocks, of which every other one is current at debug:0 and the rest at the host.
unibuf::buffer in_ranges(std::size_t ranges) {
    unibuf::buffer buffer(ranges * block);
    buffer.write(unibuf::host).data();
    const unibuf::space debug("debug:0");
    if (ranges > 1) {
        for (std::size_t i = 0; i < ranges; i += 2)
            buffer.write(debug, {.offset = i * block, .count = block}).release();
    }
    if (buffer.ranges() != ranges) throw std::logic_error("the directory has joined what it should tell apart");
    return buffer;
}

/// Measures a lease of one float in the last block, which is the host's, against one in a directory of one range.
bench::figures one_element(std::size_t ranges) {
    const unibuf::buffer many = in_ranges(ranges);
    const unibuf::buffer one = in_ranges(1);
    const auto read_last = [](const unibuf::buffer& buffer) {
        return bench::repeat([&buffer, last = buffer.size_bytes() - block] {
            const auto lease = buffer.read(unibuf::host, {.offset = last, .count = sizeof(float)});
            benchmark::DoNotOptimize(lease.data());
        });
    };
    return bench::in_ns(bench::race(read_last(many), read_last(one)));
}

const bench::declared hundred({.name = "directory.100_ranges",
                               .unit = "ns",
                               .goal = bench::ratio_at_most(5),
                               .cases = {{"read of one element", [] { return one_element(100); }}}});

const bench::declared ten_thousand({.name = "directory.10000_ranges",
                                    .unit = "ns",
                                    .goal = bench::ratio_at_most(20),
                                    .cases = {{"read of one element", [] { return one_element(10'000); }}}});

}  // namespace
}  // namespace bench::directory_bench
