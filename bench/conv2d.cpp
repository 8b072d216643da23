// bench/conv2d.cpp: the example conv2d, zero-copy against the versions that copy.
#include <algorithm>
#include <conv2d/conv2d.hpp>
#include <stdexcept>

#include "claim.hpp"

namespace bench::conv2d_bench {
namespace {

using conv2d::mode;

constexpr conv2d::extent size = {.width = 4096, .height = 4096};
constexpr int rounds = 4;
constexpr int repetitions = 3;

conv2d::problem make_problem() {
    conv2d::picture input{size, std::vector<std::uint8_t>(size.pixels())};
    std::uint32_t random = 1;
    for (std::uint8_t& pixel : input.pixels) {
        random = random * 1664525 + 1013904223;
        pixel = static_cast<std::uint8_t>(random >> 24U);
    }
    return {std::move(input), conv2d::filter_named("edge")};
}

/// Checks what is not a matter of speed.
void check_memory(const conv2d::measurement& zero_copy, mode other, const conv2d::measurement& compared) {
    if (zero_copy.bytes_copied != 0) throw std::logic_error("zero-copy has copied bytes");
    if (other == mode::careful && zero_copy.peak_bytes * 2 != compared.peak_bytes) {
        throw std::logic_error("zero-copy does not hold half of what the careful version holds");
    }
}

/// Measures pictures in a second, by zero-copy and by `other`, in turn. The fastest round of each counts, because noise
/// only adds.
bench::figures against(mode other, const char* space) {
    const unibuf::space where(space);
    const conv2d::problem what = make_problem();
    bench::figures best;
    for (int i = 0; i < rounds; ++i) {
        const conv2d::measurement compared = conv2d::run(where, other, what, repetitions);
        const conv2d::measurement zero_copy = conv2d::run(where, mode::zero_copy, what, repetitions);
        check_memory(zero_copy, other, compared);
        best.measured = std::max(best.measured, 1000 / zero_copy.milliseconds);
        best.limit = std::max(best.limit, 1000 / compared.milliseconds);
    }
    return best;
}

bench::claim faster(std::string name, double times, mode other, const char* space) {
    return {.name = std::move(name),
            .unit = "1/s",
            .goal = bench::ratio_at_least(times),
            .cases = {{"4096x4096, edge", [=] { return against(other, space); }}}};
}

const bench::declared opencl(faster("conv2d.opencl", 3, mode::copying, "opencl:0"));
const bench::declared opencl_careful(faster("conv2d.opencl.careful", 1.1, mode::careful, "opencl:0"));
const bench::declared opengl(faster("conv2d.opengl", 3, mode::copying, "opengl:0"));
const bench::declared opengl_careful(faster("conv2d.opengl.careful", 1.05, mode::careful, "opengl:0"));

}  // namespace
}  // namespace bench::conv2d_bench
