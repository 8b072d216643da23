// conv2d/run.cpp: runs a job, and measures it.
#include <algorithm>
#include <bit>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "conv2d.hpp"
#include "job.hpp"
#include "unibuf/statistics.hpp"

namespace conv2d {
namespace {

/// Adds whole numbers, so that the compiler may add in any order, and the memory sets the pace.
std::uint32_t checksum(std::span<const float> pixels) noexcept {
    std::uint32_t sum = 0;
    for (const float pixel : pixels) sum += std::bit_cast<std::uint32_t>(pixel);
    return sum;
}

std::unique_ptr<job> make_job(const order& of) {
    const std::string name = of.where.name();
    if (name == "host") return host::make_job(of);
    if (name.starts_with("cuda:")) return cuda::make_job(of);
    if (name.starts_with("metal:")) return metal::make_job(of);
    if (name.starts_with("opencl:")) return opencl::make_job(of);
    if (name.starts_with("opengl:")) return opengl::make_job(of);
    throw std::runtime_error("there is no convolution for " + name);
}

std::uint32_t repetition(job& does, const picture& of) {
    const auto line = static_cast<std::size_t>(of.size.width);
    std::uint32_t sum = 0;
    does.write(0, line, [&](std::span<float> pixels) { of.convert(0, pixels); });
    does.convolve();
    does.read([&](std::span<const float> result) { sum = checksum(result); });
    return sum;
}

double median(std::vector<double> of) {
    std::ranges::sort(of);
    const std::size_t middle = of.size() / 2;
    return of.size() % 2 == 1 ? of[middle] : (of[middle - 1] + of[middle]) / 2;
}

}  // namespace

std::string_view to_string(mode how) noexcept {
    switch (how) {
        case mode::copying:
            return "copying";
        case mode::careful:
            return "careful";
        case mode::zero_copy:
            break;
    }
    return "zero-copy";
}

measurement run(unibuf::space where, mode how, const problem& what, int repeat, const viewer& show) {
    const picture& input = what.input();
    unibuf::reset_peak_memory();
    const std::uint64_t held_by_others = unibuf::memory_in_all().held;
    tally counts;
    const std::unique_ptr<job> does =
        make_job({.where = where, .how = how, .by = what.by(), .size = input.size, .counts = counts});
    does->write(0, input.size.pixels(), [&](std::span<float> pixels) { input.convert(0, pixels); });
    repetition(*does, input);

    measurement result;
    counts.copied = counts.waits = 0;
    const unibuf::statistics before = unibuf::total_statistics();
    std::vector<double> times;
    for (int i = 0; i < repeat; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        result.checksum = repetition(*does, input);
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
        times.push_back(took.count());
    }
    const unibuf::statistics after = unibuf::total_statistics();
    result.milliseconds = median(std::move(times));
    result.bytes_copied = static_cast<double>(counts.copied + after.bytes_moved() - before.bytes_moved()) / repeat;
    result.fence_waits = static_cast<double>(counts.waits + after.fence_waits - before.fence_waits) / repeat;
    result.peak_bytes = counts.peak + unibuf::memory_in_all().peak - held_by_others;
    does->read([&](std::span<const float> pixels) {
        what.check(pixels);
        if (show) show(pixels);
    });
    return result;
}

}  // namespace conv2d
