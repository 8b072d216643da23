// bench/rectangle.cpp: columns and planes of arrays, which lie apart: moved, and known.
#include <unibuf/opencl.hpp>
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "common/opencl_api.hpp"
#include "opencl.hpp"
#include "race.hpp"

namespace bench::rectangle_bench {
namespace {

namespace cl = bench::opencl;
using unibuf::full_extent;
using unibuf::slice;

constexpr unibuf::buffer_options mirrored{.hint = unibuf::memory_hint::gpu_preferred};

// Both kernels have a work item for each element of a rectangle of one element in each row.
constexpr const char* source = R"(
kernel void pack(global const float* array, global float* packed, int first, int pitch) {
    packed[get_global_id(0)] = array[first + get_global_id(0) * pitch];
}
kernel void unpack(global float* array, global const float* packed, int first, int pitch) {
    array[first + get_global_id(0) * pitch] = packed[get_global_id(0)];
}
)";

/// An array in rows, of which one column is written at one side and then read at the other.
struct table {
    int rows;
    int columns;
};

constexpr table tall{10'000, 1'000};
constexpr table plane{256 * 256, 256};  // the last axis of an array of three, at one index

enum class way { to_device, to_host };

/// What programs do without the library, the better of two.
class by_hand {
public:
    by_hand(const unibuf::opencl::handles& on, const table& of)
        : of_(of),
          on_(on),
          pack_(on, source, "pack"),
          unpack_(on, source, "unpack"),
          array_(on.context, bytes()),
          packed_(on.context, static_cast<std::size_t>(of.rows) * sizeof(float)),
          at_host_(bytes() / sizeof(float), 1.0F),
          column_(static_cast<std::size_t>(of.rows)) {
        cl::write(on_.queue, array_.get(), std::as_bytes(std::span(at_host_)));
    }

    void by_driver(way to) {
        const cl::rectangle column{.row_bytes = sizeof(float),
                                   .rows = static_cast<std::size_t>(of_.rows),
                                   .pitch = static_cast<std::size_t>(of_.columns) * sizeof(float),
                                   .offset = first * sizeof(float)};
        if (to == way::to_device) {
            cl::write_rectangle(on_.queue, array_.get(), std::as_bytes(std::span(at_host_)).data(), column);
        } else {
            cl::read_rectangle(on_.queue, array_.get(), std::as_writable_bytes(std::span(at_host_)).data(), column);
        }
    }

    void by_packing(way to) {
        if (to == way::to_device) {
            each_row([&](std::size_t row, float& at_host) { column_[row] = at_host; });
            cl::write(on_.queue, packed_.get(), std::as_bytes(std::span(column_)));
            run(unpack_);
            cl::finish(on_.queue);
        } else {
            run(pack_);
            cl::read(on_.queue, packed_.get(), std::as_writable_bytes(std::span(column_)));
            each_row([&](std::size_t row, float& at_host) { at_host = column_[row]; });
        }
    }

    static constexpr std::size_t first = 3;

private:
    std::size_t bytes() const noexcept {
        return static_cast<std::size_t>(of_.rows) * static_cast<std::size_t>(of_.columns) * sizeof(float);
    }

    template <class Visit>
    void each_row(Visit visit) {
        const auto pitch = static_cast<std::size_t>(of_.columns);
        for (std::size_t row = 0; row < column_.size(); ++row) visit(row, at_host_[first + row * pitch]);
    }

    void run(const examples::cl::kernel_program& kernel) {
        kernel.set(0, array_.get());
        kernel.set(1, packed_.get());
        kernel.set(2, static_cast<int>(first));
        kernel.set(3, of_.columns);
        kernel.enqueue(column_.size(), 1);
    }

    table of_;
    unibuf::opencl::handles on_;
    examples::cl::kernel_program pack_;
    examples::cl::kernel_program unpack_;
    cl::owned array_;
    cl::owned packed_;
    std::vector<float> at_host_;
    std::vector<float> column_;
};

/// Measures the bytes of a column in a second, against the better of the driver's copy of a rectangle, and a packing
/// kernel with one copy.
bench::figures column(const table& of, way to) {
    const unibuf::space where("opencl:0");
    unibuf::unified_buffer<float> array({of.rows, of.columns}, mirrored);
    array.fill(1);
    array.read(where).release();
    unibuf::rectangle<float> mine = array.view(full_extent, slice{by_hand::first, by_hand::first + 1});
    const unibuf::space from = to == way::to_device ? unibuf::host : where;
    const unibuf::space target = to == way::to_device ? where : unibuf::host;
    by_hand other(unibuf::opencl::handles_of(where), of);
    const auto driver = bench::repeat([&] { other.by_driver(to); });
    const auto packing = bench::repeat([&] { other.by_packing(to); });
    const bench::seconds both = bench::race(driver, packing);
    const bench::seconds taken =
        bench::race(bench::repeat([&] { mine.write(from).release(); }, [&] { mine.read(target).release(); }),
                    both.measured < both.limit ? driver : packing);
    return bench::as_rate(taken, static_cast<double>(of.rows) * sizeof(float) / 1e9);
}

const bench::declared of_column({.name = "rect.column",
                                 .unit = "GB/s",
                                 .goal = bench::ratio_at_least(0.9),
                                 .cases = {{"10,000 rows, to the device", [] { return column(tall, way::to_device); }},
                                           {"10,000 rows, to the host", [] { return column(tall, way::to_host); }}}});

const bench::declared of_plane({.name = "rect.plane",
                                .unit = "GB/s",
                                .goal = bench::ratio_at_least(0.9),
                                .cases = {{"256 x 256, to the device", [] { return column(plane, way::to_device); }},
                                          {"256 x 256, to the host", [] { return column(plane, way::to_host); }}}});

/// Measures a lease of one element of an array of which a device wrote a column against one where nobody did.
bench::figures after_column() {
    const unibuf::space where("debug:0");
    const auto made = [&](bool with_column) {
        unibuf::unified_buffer<float> array({tall.rows, tall.columns}, mirrored);
        array.fill(1);
        array.read(where).release();
        if (with_column) array.view(full_extent, 3).write(where).release();
        return array;
    };
    const auto read_last = [](const unibuf::unified_buffer<float>& array) {
        return bench::repeat([&array, last = array.size() - 1] {
            const auto lease = array.read(unibuf::host, {.offset = last, .count = 1});
            benchmark::DoNotOptimize(lease.data());
        });
    };
    const auto with = made(true);
    const auto without = made(false);
    // Both go by the lock: a lease that is held elsewhere in the buffer shuts the gate.
    const auto held = with.read(unibuf::host, {.offset = 0, .count = 1});
    const auto other = without.read(unibuf::host, {.offset = 0, .count = 1});
    return bench::in_ns(bench::race(read_last(with), read_last(without)));
}

/// Measures a lease at the gate of an array that is current at the host, and of which a column was written there.
bench::figures at_the_gate() {
    const unibuf::space where("debug:0");
    unibuf::unified_buffer<float> with({tall.rows, tall.columns}, mirrored);
    unibuf::unified_buffer<float> without({tall.rows, tall.columns}, mirrored);
    for (unibuf::unified_buffer<float>* each : {&with, &without}) {
        each->fill(1);
        each->read(where).release();
    }
    with.view(full_extent, 3).write(unibuf::host).release();
    const auto read = [](const unibuf::unified_buffer<float>& array) {
        return bench::repeat([&array] { benchmark::DoNotOptimize(array.read(unibuf::host).data()); });
    };
    return bench::in_ns(bench::race(read(with), read(without)));
}

/// Measures a write lease of a column, of two by turns, against one of a row.
bench::figures update() {
    const unibuf::space where("opencl:0");  // debug:0 overwrites what is stale
    unibuf::unified_buffer<float> array({tall.rows, tall.columns}, mirrored);
    array.fill(1);
    array.read(where).release();
    std::array columns{array.view(full_extent, 3), array.view(full_extent, 700)};
    std::array rows{array.view(std::size_t{3} * tall.columns, tall.columns),
                    array.view(std::size_t{700} * tall.columns, tall.columns)};
    std::size_t next = 0;
    const auto by_turns = [&](auto& parts) {
        return bench::repeat([&] {
            auto& part = parts[next++ % 2];
            part.mark_dirty(unibuf::host);
            part.mark_dirty(where);
        });
    };
    bench::seconds taken = bench::race(by_turns(columns), by_turns(rows));
    return bench::in_ns({taken.measured / 2, taken.limit / 2});
}

const bench::declared directory({.name = "rect.directory",
                                 .unit = "ns",
                                 .goal = bench::ratio_at_most(2),
                                 .cases = {{"read of one element, by the lock", after_column}}});

const bench::declared gate({.name = "rect.gate",
                            .unit = "ns",
                            .goal = bench::ratio_at_most(1.1),
                            .cases = {{"read of all, at the gate", at_the_gate}}});

const bench::declared change({.name = "rect.update",
                              .unit = "ns",
                              .goal = bench::at_most(1000),
                              .cases = {{"a mark of a column of 10,000 rows", update}}});

}  // namespace
}  // namespace bench::rectangle_bench
