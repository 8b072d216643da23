// bench/cuda_rectangle.cpp: columns and planes of arrays, to and from a CUDA device.
#include <fmt/format.h>
#include <unibuf/unibuf.hpp>

#include <span>
#include <vector>

#include "cuda.hpp"
#include "default_device.hpp"
#include "race.hpp"

namespace bench::cuda_rectangle_bench {
namespace {

using namespace bench::cuda;
using unibuf::full_extent;
using unibuf::slice;

enum class way { to_device, to_host };

/// An array in rows, of which some columns move.
struct table {
    std::size_t rows;
    std::size_t columns;
    std::size_t moved;

    std::size_t elements() const noexcept { return rows * columns; }
};

constexpr std::size_t first = 3;

/// What programs do without the library, the better of two: a 2-D copy between the arrays, or one between the device's
/// array and pinned memory, and a loop at the host.
class by_hand {
public:
    by_hand(const table& of, bool pinned)
        : of_(of),
          array_({of.elements()}, {.hint = unibuf::memory_hint::gpu_preferred, .pinned = pinned}),
          packed_({of.rows * of.moved}, {.hint = unibuf::memory_hint::gpu_preferred, .pinned = true}) {
        array_.fill(1);
        packed_.fill(1);
        device_ = array_.read("cuda:0").native().handle + first * sizeof(float);
        // Nobody else uses the two arrays: whoever writes them needs no lease.
        at_host_ = const_cast<float*>(array_.read(unibuf::host).data());
        at_host_packed_ = const_cast<float*>(packed_.read(unibuf::host).data());
    }

    void by_driver(way to) const { copy(to, at_host_ + first, of_.columns); }

    void by_packing(way to) const {
        if (to == way::to_host) copy(to, at_host_packed_, of_.moved);
        for (std::size_t row = 0; row < of_.rows; ++row) {
            for (std::size_t i = 0; i < of_.moved; ++i) {
                float& here = at_host_[row * of_.columns + first + i];
                float& packed = at_host_packed_[row * of_.moved + i];
                to == way::to_host ? here = packed : packed = here;
            }
        }
        if (to == way::to_device) copy(to, at_host_packed_, of_.moved);
    }

private:
    void copy(way to, float* host, std::size_t columns) const {
        const rows all{.device = device_,
                       .device_pitch = of_.columns * sizeof(float),
                       .host = reinterpret_cast<std::byte*>(host),
                       .host_pitch = columns * sizeof(float),
                       .bytes = of_.moved * sizeof(float),
                       .count = of_.rows};
        to == way::to_device ? on_.to_device(all) : on_.to_host(all);
        on_.wait();
    }

    table of_;
    stream on_;
    unibuf::unified_buffer<float> array_;
    unibuf::unified_buffer<float> packed_;
    std::uintptr_t device_ = 0;
    float* at_host_ = nullptr;
    float* at_host_packed_ = nullptr;
};

/// Measures until the bytes have arrived. Marking is not timed.
bench::figures moved(const table& of, bool pinned, way to) {
    const unibuf::space where = device_for(2 * of.elements() * sizeof(float));
    const bench::default_device device(where);
    unibuf::unified_buffer<float> array({of.rows, of.columns},
                                        {.hint = unibuf::memory_hint::gpu_preferred, .pinned = pinned});
    array.fill(1);
    array.read(where).release();
    unibuf::rectangle<float> part = array.view(full_extent, slice{first, first + of.moved});
    const by_hand other(of, pinned);
    const auto driver = bench::repeat([&] { other.by_driver(to); });
    const auto packing = bench::repeat([&] { other.by_packing(to); });
    const bench::seconds both = bench::race(driver, packing);
    const unibuf::space target = to == way::to_device ? where : unibuf::host;
    const auto ours = bench::repeat([&] { part.mark_dirty(to == way::to_device ? unibuf::host : where); },
                                    [&] { part.read(target).release(); });
    const bench::seconds taken = bench::race(ours, both.measured < both.limit ? driver : packing);
    return bench::as_rate(taken, static_cast<double>(of.rows * of.moved) * sizeof(float) / 1e9);
}

std::vector<bench::situation> each_way(const table& of, const char* name) {
    std::vector<bench::situation> cases;
    for (const bool pinned : {true, false}) {
        for (const way to : {way::to_device, way::to_host}) {
            cases.push_back({fmt::format("{}, {}, {}", name, pinned ? "pinned" : "pageable",
                                         to == way::to_device ? "to device" : "to host"),
                             [=] { return moved(of, pinned, to); }});
        }
    }
    return cases;
}

const bench::declared column({.name = "cuda.column",
                              .unit = "GB/s",
                              .goal = bench::ratio_at_least(0.9),
                              .cases = each_way({10'000, 1'000, 1}, "10,000 rows")});
const bench::declared columns({.name = "cuda.columns",
                               .unit = "GB/s",
                               .goal = bench::ratio_at_least(0.9),
                               .cases = each_way({10'000, 1'000, 100}, "10,000 rows of 400 bytes")});
const bench::declared plane({.name = "cuda.plane",
                             .unit = "GB/s",
                             .goal = bench::ratio_at_least(0.9),
                             .cases = each_way({std::size_t{256} * 256, 256, 1}, "256 x 256")});

}  // namespace
}  // namespace bench::cuda_rectangle_bench
