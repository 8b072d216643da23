// suite/hotspot.cpp: how a chip's temperatures change under a given load, step by step (Rodinia's hotspot).
#include <unibuf/unibuf.hpp>

#include <array>
#include <utility>

#include "program.hpp"
#include "random.hpp"

namespace suite::hotspot_program {
namespace {

constexpr const char* source = R"(
kernel void heat(global const float* power, global const float* from, global float* to, float per_heat, float aside,
                 float outside) {
    const int columns = get_global_size(0), rows = get_global_size(1), column = get_global_id(0), row = get_global_id(1);
    const int i = row * columns + column;
    const float here = from[i];
    const float north = from[row > 0 ? i - columns : i], south = from[row < rows - 1 ? i + columns : i];
    const float west = from[column > 0 ? i - 1 : i], east = from[column < columns - 1 ? i + 1 : i];
    to[i] = here + per_heat * (power[i] + (north + south + west + east - 4 * here) * aside + (80 - here) * outside);
}
)";

// These describe a chip of silicon of 16 x 16 x 0.5 mm, in meters, watts and kelvins.
constexpr float thickness = 0.0005F;
constexpr float side = 0.016F;
constexpr float conductivity = 100;
constexpr float specific_heat = 1.75e6F;
constexpr float heat_factor = 0.5F;
constexpr float most_power = 3e6F;
constexpr float precision = 0.001F;

class hotspot final : public program {
public:
    hotspot(unibuf::space where, scale size)
        : program(where, source), side_(size == scale::full ? 1'024 : 64), steps_(size == scale::full ? 600 : 10) {
        random_numbers random;
        for (std::size_t i = 0; i < cells_; ++i) temperatures_.push_back(320 + 20 * random.next());
        for (std::size_t i = 0; i < cells_; ++i) power_.push_back(0.01F * random.next());
    }

    void published() override;
    void copy_all() override;
    void expert() override;
    void by_unibuf(const unibuf::buffer_options& options) override;
    void touches(ledger& told) const override;
    std::vector<std::byte> take_result() override { return taken(result_); }

private:
    std::size_t side_;
    std::size_t steps_;
    std::size_t cells_ = side_ * side_;
    float cell_ = side / static_cast<float>(side_);
    float per_heat_ = precision / (most_power / (heat_factor * thickness * specific_heat)) /
                      (heat_factor * specific_heat * thickness * cell_ * cell_);
    float aside_ = 2 * conductivity * thickness;
    float outside_ = conductivity * cell_ * cell_ / thickness;
    cl::Kernel heat_ = kernel("heat");
    std::vector<float> temperatures_;
    std::vector<float> power_;
    std::vector<float> result_ = std::vector<float>(cells_);
};

void hotspot::published() {
    std::array<cl::Buffer, 2> grids{{{context(), CL_MEM_READ_WRITE, cells_ * sizeof(float)},
                                     {context(), CL_MEM_READ_WRITE, cells_ * sizeof(float)}}};
    cl::Buffer power(context(), CL_MEM_READ_WRITE, cells_ * sizeof(float));
    queue().enqueueWriteBuffer(grids[0], CL_TRUE, 0, cells_ * sizeof(float), temperatures_.data());
    queue().enqueueWriteBuffer(power, CL_TRUE, 0, cells_ * sizeof(float), power_.data());
    for (std::size_t i = 0; i < steps_; ++i) {
        run(queue(), heat_, {side_, side_}, power, grids[i % 2], grids[(i + 1) % 2], per_heat_, aside_, outside_);
    }
    queue().enqueueReadBuffer(grids[steps_ % 2], CL_TRUE, 0, cells_ * sizeof(float), result_.data());
}

void hotspot::copy_all() {
    cl::Buffer from(context(), CL_MEM_READ_WRITE, cells_ * sizeof(float)),
        to(context(), CL_MEM_READ_WRITE, cells_ * sizeof(float)),
        power(context(), CL_MEM_READ_WRITE, cells_ * sizeof(float));
    std::vector<float> next(cells_);
    result_ = temperatures_;
    for (std::size_t i = 0; i < steps_; ++i) {
        queue().enqueueWriteBuffer(power, CL_TRUE, 0, cells_ * sizeof(float), power_.data());
        queue().enqueueWriteBuffer(from, CL_TRUE, 0, cells_ * sizeof(float), result_.data());
        queue().enqueueWriteBuffer(to, CL_TRUE, 0, cells_ * sizeof(float), next.data());
        run(queue(), heat_, {side_, side_}, power, from, to, per_heat_, aside_, outside_);
        queue().enqueueReadBuffer(to, CL_TRUE, 0, cells_ * sizeof(float), next.data());
        std::swap(result_, next);
    }
}

void hotspot::expert() {
    std::array<cl::Buffer, 2> grids{{{context(), CL_MEM_READ_WRITE, cells_ * sizeof(float)},
                                     {context(), CL_MEM_READ_WRITE, cells_ * sizeof(float)}}};
    cl::Buffer power(context(), CL_MEM_READ_WRITE, cells_ * sizeof(float));
    queue().enqueueWriteBuffer(grids[0], CL_TRUE, 0, cells_ * sizeof(float), temperatures_.data());
    queue().enqueueWriteBuffer(power, CL_TRUE, 0, cells_ * sizeof(float), power_.data());
    for (std::size_t i = 0; i < steps_; ++i) {
        run(queue(), heat_, {side_, side_}, power, grids[i % 2], grids[(i + 1) % 2], per_heat_, aside_, outside_);
    }
    queue().enqueueReadBuffer(grids[steps_ % 2], CL_TRUE, 0, cells_ * sizeof(float), result_.data());
}

void hotspot::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> from({cells_}, options), to({cells_}, options), power({cells_}, options);
    from.copy_from(temperatures_, where());
    power.copy_from(power_, where());
    for (std::size_t i = 0; i < steps_; ++i) {
        opencl::enqueue(heat_(), {side_, side_}, read(power), read(from), write(to), per_heat_, aside_, outside_);
        std::swap(from, to);
    }
    from.copy_to(result_, where());
}

void hotspot::touches(ledger& told) const {
    for (const char* each : {"power", "even", "odd"}) told.make(each, cells_, sizeof(float));
    told.host_writes("power");
    told.host_writes("even");
    const char* now = "even";
    const char* next = "odd";
    for (std::size_t i = 0; i < steps_; ++i) {
        told.device_reads({"power", now});
        told.device_writes({next});
        std::swap(now, next);
    }
    told.host_reads(now);
}

const registered entry_of_hotspot({.name = "hotspot",
                                   .origin = "Rodinia",
                                   .problem = "600 steps of the temperatures of 1024 x 1024 cells",
                                   .make = made<hotspot>});

}  // namespace
}  // namespace suite::hotspot_program
