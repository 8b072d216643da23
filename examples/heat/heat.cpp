// examples/heat: heat spreads over a plate on an OpenCL device, while the host heats its upper edge.
//
// The host writes one row each step through a pointer that it got at the beginning, and tells nobody: the pages of that
// row move, and nothing else. Beside it stands a version that moves whole arrays, as a program does that tracks
// nothing.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/arguments.hpp"
#include "common/opencl_api.hpp"
#include "conv2d/picture.hpp"
#include "unibuf/unibuf.hpp"

namespace {

namespace cl = examples::cl;

constexpr const char* kernel = R"(
kernel void spread(global const float* from, global float* to, int width) {
    const int x = get_global_id(0);
    const int at = (get_global_id(1) + 1) * width + x;
    const float left = from[x > 0 ? at - 1 : at];
    const float right = from[x + 1 < width ? at + 1 : at];
    to[at] = from[at] + 0.2f * (left + right + from[at - width] + from[at + width] - 4 * from[at]);
}
)";

struct plate {
    int width = 2048;
    int rows = 2048;
    int steps = 50;

    std::size_t row() const { return static_cast<std::size_t>(width); }
    std::size_t cells() const { return row() * static_cast<std::size_t>(rows); }
    std::size_t inner() const { return cells() - 2 * row(); }
};

/// Heats the upper edge, which the host does each step.
void heat_upper_edge(std::span<float> edge, int step) {
    for (std::size_t x = 0; x < edge.size(); ++x) {
        edge[x] = 100 * std::abs(std::sin(0.05F * static_cast<float>(step) + 0.001F * static_cast<float>(x)));
    }
}

/// The plate's two states, one made of the other in turns.
class simulation {
public:
    simulation(unibuf::space where, const plate& of)
        : where_(where),
          of_(of),
          spread_(unibuf::opencl::handles_of(where), kernel, "spread"),
          now_(of.cells(), options(where)),
          next_(of.cells(), options(where)) {}
    virtual ~simulation() = default;

    void step(int number) {
        write_edge(now_, number);
        now_.read(where_).release();  // the edge is there when this returns, and the host may write the next one
        unibuf::opencl::enqueue(where_, spread_.native(), {of_.width, of_.rows - 2}, read(now_),
                                write(next_, {.offset = of_.row(), .count = of_.inner()}), of_.width);
        std::swap(now_, next_);
    }

    std::vector<float> result() {
        std::vector<float> cells(of_.cells());
        now_.copy_to(cells);
        return cells;
    }

    std::uint64_t bytes_moved() const { return now_.statistics().bytes_moved() + next_.statistics().bytes_moved(); }

protected:
    using array = unibuf::unified_buffer<float>;

    virtual void write_edge(array& now, int step) = 0;
    const plate& of() const noexcept { return of_; }

private:
    static unibuf::buffer_options options(unibuf::space where) {
        unibuf::buffer_options result;
        result.device = where;
        result.hint = unibuf::memory_hint::gpu_preferred;
        return result;
    }

    unibuf::space where_;
    plate of_;
    cl::kernel_program spread_;
    array now_;
    array next_;
};

/// The host writes through pointers that are kept: asking for one that is out already costs a check.
class tracked final : public simulation {
    using simulation::simulation;

    void write_edge(array& now, int step) override {
        float*& pointer = pointers_[step % 2];
        if (!pointer) pointer = now.host();
        heat_upper_edge({pointer, of().row()}, step);
    }

    float* pointers_[2] = {};
};

/// The whole array comes to the host, and goes back, each step.
class whole final : public simulation {
    using simulation::simulation;

    void write_edge(array& now, int step) override {
        heat_upper_edge(now.read_write(unibuf::host).span().first(of().row()), step);
    }
};

struct measured {
    std::string way;
    double milliseconds = 0;
    double bytes = 0;
    std::vector<float> result;
};

template <class Simulation>
measured run(const std::string& way, unibuf::space where, const plate& of) {
    Simulation plates(where, of);
    for (int step = 0; step < 2; ++step) plates.step(step);  // allocates, compiles
    const std::uint64_t before = plates.bytes_moved();
    const auto begin = std::chrono::steady_clock::now();
    for (int step = 2; step < of.steps; ++step) plates.step(step);
    const std::uint64_t moved = plates.bytes_moved() - before;
    measured result{way, 0, 0, plates.result()};
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    result.milliseconds = took.count() / (of.steps - 2);
    result.bytes = static_cast<double>(moved) / (of.steps - 2);
    return result;
}

/// Returns what a plain loop makes of the plate.
std::vector<float> expected(const plate& of) {
    std::vector<float> now(of.cells());
    std::vector<float> next(of.cells());
    const std::size_t width = of.row();
    for (int step = 0; step < of.steps; ++step) {
        heat_upper_edge(std::span(now).first(width), step);
        for (std::size_t at = width; at < of.cells() - width; ++at) {
            const std::size_t x = at % width;
            const float left = now[x > 0 ? at - 1 : at];
            const float right = now[x + 1 < width ? at + 1 : at];
            next[at] = now[at] + 0.2F * (left + right + now[at - width] + now[at + width] - 4 * now[at]);
        }
        std::swap(now, next);
    }
    return now;
}

void check(const measured& run, const std::vector<float>& wanted, std::size_t first) {
    for (std::size_t i = first; i < wanted.size(); ++i) {
        if (std::abs(run.result[i] - wanted[i]) <= 1e-2F) continue;
        throw std::runtime_error(fmt::format("{}: cell {} is {} instead of {}", run.way, i, run.result[i], wanted[i]));
    }
}

/// Writes a picture of the plate: white is 100 degrees.
void draw(const std::vector<float>& cells, const plate& of, const std::string& file) {
    conv2d::picture drawn{{of.width, of.rows}, std::vector<std::uint8_t>(cells.size())};
    std::ranges::transform(cells, drawn.pixels.begin(), [](float degrees) {
        return static_cast<std::uint8_t>(std::clamp(degrees, 0.0F, 100.0F) * 2.55F);
    });
    conv2d::save(drawn, file);
}

void print(const plate& of, const std::string& where, const std::vector<measured>& runs) {
    fmt::print("{} x {} cells, {} steps, on {}\n", of.width, of.rows, of.steps, where);
    for (const measured& each : runs) {
        fmt::print("{:<14} {:>8.3f} ms a step {:>12.0f} bytes moved a step\n", each.way, each.milliseconds, each.bytes);
    }
    fmt::print("{:<14} {:>8.1f} times as fast {:>7.0f} times fewer bytes\n", "",
               runs[1].milliseconds / runs[0].milliseconds, runs[1].bytes / std::max(runs[0].bytes, 1.0));
}

void print_json(const std::vector<measured>& runs) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const measured& each : runs) {
        list.push_back({{"way", each.way}, {"ms_per_step", each.milliseconds}, {"bytes_per_step", each.bytes}});
    }
    fmt::print("{}\n", list.dump(2));
}

}  // namespace

int main(int argc, char** argv) {
    try {
        plate of;
        std::string where = "opencl:0";
        std::string output;
        bool as_json = false;
        examples::arguments told(
            "Heat on a plate: the host writes its edge through an old pointer, the device does "
            "the rest");
        told.number("--width", of.width, 1, 1 << 15);
        told.number("--rows", of.rows, 3, 1 << 15);
        told.number("--steps", of.steps, 3, 1 << 20);
        told.text("--space", where, "An OpenCL device");
        told.text("--output", output, "Where to write a picture of the plate", "PNG");
        told.flag("--json", as_json);
        if (const auto status = told.read(argc, argv)) return *status;
        const std::vector<measured> runs = {run<tracked>("writes found", where, of),
                                            run<whole>("whole arrays", where, of)};
        const std::vector<float> wanted = expected(of);
        for (const measured& each : runs) check(each, wanted, of.row());
        if (!output.empty()) draw(wanted, of, output);
        if (as_json) {
            print_json(runs);
        } else {
            print(of, where, runs);
        }
    } catch (const std::exception& failed) {
        std::fputs((std::string("heat: ") + failed.what() + '\n').c_str(), stderr);
        return 1;
    }
    return 0;
}
