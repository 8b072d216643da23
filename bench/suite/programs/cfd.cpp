// suite/cfd.cpp: a gas that flows past a body, by the Euler equations on an unstructured mesh (Rodinia's cfd).
#include <unibuf/unibuf.hpp>

#include <array>

#include "program.hpp"
#include "random.hpp"

namespace suite::cfd_program {
namespace {

constexpr const char* source = R"(
// Values are five arrays, one behind the other, of a number for each element: density, momentum along x, y and z, energy.
typedef struct {
    float density, energy;
    float3 momentum;
} state;

typedef struct {
    float3 density, momentum_x, momentum_y, momentum_z, energy;
} flow;

state state_at(global const float* values, int i, int count) {
    return (state){values[i], values[i + 4 * count],
                   (float3)(values[i + count], values[i + 2 * count], values[i + 3 * count])};
}

float3 velocity_of(state of) { return of.momentum / of.density; }

float pressure_of(state of) { return 0.4f * (of.energy - 0.5f * dot(of.momentum, of.momentum) / of.density); }

// Returns the sum of the gas's speed, and of that of sound in it.
float speeds_of(state of) {
    const float3 velocity = velocity_of(of);
    return sqrt(dot(velocity, velocity)) + sqrt(1.4f * pressure_of(of) / of.density);
}

flow flow_of(state of) {
    const float3 velocity = velocity_of(of);
    const float pressure = pressure_of(of);
    return (flow){of.momentum, velocity * of.momentum.x + (float3)(pressure, 0, 0),
                  velocity * of.momentum.y + (float3)(0, pressure, 0),
                  velocity * of.momentum.z + (float3)(0, 0, pressure), velocity * (of.energy + pressure)};
}

kernel void start(global float* values, constant float* far) {
    const int count = get_global_size(0), i = get_global_id(0);
    for (int v = 0; v < 5; ++v) values[i + v * count] = far[v];
}

kernel void find_steps(global const float* values, global const float* areas, global float* steps) {
    const int count = get_global_size(0), i = get_global_id(0);
    steps[i] = 0.5f / (sqrt(areas[i]) * speeds_of(state_at(values, i, count)));
}

kernel void find_fluxes(global const int* neighbours, global const float* normals, global const float* values,
                        constant float* far, global float* fluxes) {
    const int count = get_global_size(0), i = get_global_id(0);
    const state here = state_at(values, i, count);
    const flow flow_here = flow_of(here);
    const float speeds_here = speeds_of(here);
    state flux = {0, 0, (float3)(0, 0, 0)};
    for (int face = 0; face < 4; ++face) {
        const int to = neighbours[i + face * count];
        global const float* n = normals + i + 3 * face * count;
        const float3 normal = (float3)(n[0], n[count], n[2 * count]);
        if (to == -1) {
            flux.momentum += normal * pressure_of(here);
            continue;
        }
        state there = {far[0], far[4], (float3)(far[1], far[2], far[3])};
        if (to >= 0) {
            there = state_at(values, to, count);
            const float viscosity = 0.1f * length(normal) * (speeds_here + speeds_of(there));
            flux.density -= viscosity * (here.density - there.density);
            flux.momentum -= viscosity * (here.momentum - there.momentum);
            flux.energy -= viscosity * (here.energy - there.energy);
        }
        const flow flow_there = flow_of(there);
        flux.density += 0.5f * dot(normal, flow_here.density + flow_there.density);
        flux.momentum += 0.5f * (float3)(dot(normal, flow_here.momentum_x + flow_there.momentum_x),
                                         dot(normal, flow_here.momentum_y + flow_there.momentum_y),
                                         dot(normal, flow_here.momentum_z + flow_there.momentum_z));
        flux.energy += 0.5f * dot(normal, flow_here.energy + flow_there.energy);
    }
    fluxes[i] = flux.density;
    fluxes[i + count] = flux.momentum.x;
    fluxes[i + 2 * count] = flux.momentum.y;
    fluxes[i + 3 * count] = flux.momentum.z;
    fluxes[i + 4 * count] = flux.energy;
}

kernel void advance(global const float* old, global const float* steps, global const float* fluxes,
                    global float* values, int stage) {
    const int count = get_global_size(0), i = get_global_id(0);
    const float step = steps[i] / (3 - stage);
    for (int v = 0; v < 5; ++v) values[i + v * count] = old[i + v * count] + step * fluxes[i + v * count];
}
)";

constexpr std::size_t variables = 5;
constexpr std::size_t faces = 4;
constexpr int stages = 3;  // of a Runge-Kutta step
constexpr int wing = -1;   // what is behind a face, where there is no element
constexpr int far_field = -2;

/// A mesh of a grid's cells. Each has neighbours along x on both sides, and along y and z on one: the odd cells on the
/// side where the even ones have none. The normals of each add up to zero, as those of a closed surface do.
struct mesh {
    explicit mesh(const std::array<int, 3>& extents);

    std::size_t elements;
    std::vector<float> areas;
    std::vector<int> neighbours;  // first those behind the first face of each element, then behind the second
    std::vector<float> normals;   // likewise; of each face first all x, then all y, then all z
};

mesh::mesh(const std::array<int, 3>& extents)
    : elements(static_cast<std::size_t>(extents[0] * extents[1] * extents[2])),
      neighbours(elements * faces),
      normals(elements * faces * 3) {
    constexpr std::array<std::array<int, 3>, faces> steps{{{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    constexpr std::array<std::array<int, 3>, faces> corners{{{1, 1, 1}, {-1, -1, 1}, {-1, 1, -1}, {1, -1, -1}}};
    random_numbers random;
    for (std::size_t i = 0; i < elements; ++i) {
        const int index = static_cast<int>(i);
        const std::array<int, 3> at{index % extents[0], index / extents[0] % extents[1],
                                    index / extents[0] / extents[1]};
        const int sign = (at[0] + at[1] + at[2]) % 2 == 0 ? 1 : -1;
        areas.push_back(16 + 16 * random.next());
        for (std::size_t face = 0; face < faces; ++face) {
            std::array<int, 3> to{};
            bool is_inside = true;
            for (std::size_t axis = 0; axis < 3; ++axis) {
                to[axis] = at[axis] + sign * steps[face][axis];
                is_inside = is_inside && to[axis] >= 0 && to[axis] < extents[axis];
                normals[i + (face * 3 + axis) * elements] = static_cast<float>(sign * corners[face][axis]);
            }
            const int outside = to[2] < 0 ? wing : far_field;
            neighbours[i + face * elements] = is_inside ? to[0] + extents[0] * (to[1] + extents[1] * to[2]) : outside;
        }
    }
}

class cfd final : public program {
public:
    cfd(unibuf::space where, scale size)
        : program(where, source),
          mesh_(size == scale::full ? std::array{66, 46, 32} : std::array{8, 8, 8}),
          rounds_(size == scale::full ? 60 : 3) {}

    void published() override;
    void copy_all() override;
    void expert() override;
    void by_unibuf(const unibuf::buffer_options& options) override;
    void touches(ledger& told) const override;
    std::vector<std::byte> take_result() override { return taken(result_); }

private:
    mesh mesh_;
    int rounds_;
    std::size_t count_ = mesh_.elements;
    // The gas far away has a density of 1.4, a pressure of 1, and flows along x with 1.2 times the speed of sound.
    std::vector<float> far_{1.4F, 1.4F * 1.2F, 0, 0, 0.5F * 1.4F * 1.2F * 1.2F + 1 / 0.4F};
    cl::Kernel start_ = kernel("start");
    cl::Kernel find_steps_ = kernel("find_steps");
    cl::Kernel find_fluxes_ = kernel("find_fluxes");
    cl::Kernel advance_ = kernel("advance");
    std::vector<float> result_ = std::vector<float>(count_ * variables);
};

void cfd::published() {
    cl::Buffer far(context(), CL_MEM_READ_WRITE, variables * sizeof(float)),
        areas(context(), CL_MEM_READ_WRITE, count_ * sizeof(float)),
        normals(context(), CL_MEM_READ_WRITE, count_ * faces * 3 * sizeof(float)),
        steps(context(), CL_MEM_READ_WRITE, count_ * sizeof(float));
    cl::Buffer neighbours(context(), CL_MEM_READ_WRITE, count_ * faces * sizeof(int));
    cl::Buffer values(context(), CL_MEM_READ_WRITE, count_ * variables * sizeof(float)),
        old(context(), CL_MEM_READ_WRITE, count_ * variables * sizeof(float)),
        fluxes(context(), CL_MEM_READ_WRITE, count_ * variables * sizeof(float));
    queue().enqueueWriteBuffer(far, CL_TRUE, 0, variables * sizeof(float), far_.data());
    queue().enqueueWriteBuffer(areas, CL_TRUE, 0, count_ * sizeof(float), mesh_.areas.data());
    queue().enqueueWriteBuffer(neighbours, CL_TRUE, 0, count_ * faces * sizeof(int), mesh_.neighbours.data());
    queue().enqueueWriteBuffer(normals, CL_TRUE, 0, count_ * faces * 3 * sizeof(float), mesh_.normals.data());
    run(queue(), start_, count_, values, far);
    run(queue(), start_, count_, old, far);
    run(queue(), start_, count_, fluxes, far);
    queue().enqueueFillBuffer(steps, float{0}, 0, count_ * sizeof(float));
    for (int round = 0; round < rounds_; ++round) {
        queue().enqueueCopyBuffer(values, old, 0, 0, count_ * variables * sizeof(float));
        run(queue(), find_steps_, count_, values, areas, steps);
        for (int stage = 0; stage < stages; ++stage) {
            run(queue(), find_fluxes_, count_, neighbours, normals, values, far, fluxes);
            run(queue(), advance_, count_, old, steps, fluxes, values, stage);
        }
    }
    queue().enqueueReadBuffer(values, CL_TRUE, 0, count_ * variables * sizeof(float), result_.data());
}

void cfd::copy_all() {
    cl::Buffer far(context(), CL_MEM_READ_WRITE, variables * sizeof(float)),
        areas(context(), CL_MEM_READ_WRITE, count_ * sizeof(float)),
        normals(context(), CL_MEM_READ_WRITE, count_ * faces * 3 * sizeof(float)),
        steps(context(), CL_MEM_READ_WRITE, count_ * sizeof(float));
    cl::Buffer neighbours(context(), CL_MEM_READ_WRITE, count_ * faces * sizeof(int));
    cl::Buffer values(context(), CL_MEM_READ_WRITE, count_ * variables * sizeof(float)),
        old(context(), CL_MEM_READ_WRITE, count_ * variables * sizeof(float)),
        fluxes(context(), CL_MEM_READ_WRITE, count_ * variables * sizeof(float));
    std::vector<float> all_steps(count_), all_fluxes(count_ * variables), old_values(count_ * variables);
    queue().enqueueWriteBuffer(values, CL_TRUE, 0, count_ * variables * sizeof(float), result_.data());
    queue().enqueueWriteBuffer(far, CL_TRUE, 0, variables * sizeof(float), far_.data());
    run(queue(), start_, count_, values, far);
    queue().enqueueReadBuffer(values, CL_TRUE, 0, count_ * variables * sizeof(float), result_.data());
    for (int round = 0; round < rounds_; ++round) {
        old_values = result_;
        queue().enqueueWriteBuffer(values, CL_TRUE, 0, count_ * variables * sizeof(float), result_.data());
        queue().enqueueWriteBuffer(areas, CL_TRUE, 0, count_ * sizeof(float), mesh_.areas.data());
        queue().enqueueWriteBuffer(steps, CL_TRUE, 0, count_ * sizeof(float), all_steps.data());
        run(queue(), find_steps_, count_, values, areas, steps);
        queue().enqueueReadBuffer(steps, CL_TRUE, 0, count_ * sizeof(float), all_steps.data());
        for (int stage = 0; stage < stages; ++stage) {
            queue().enqueueWriteBuffer(neighbours, CL_TRUE, 0, count_ * faces * sizeof(int), mesh_.neighbours.data());
            queue().enqueueWriteBuffer(normals, CL_TRUE, 0, count_ * faces * 3 * sizeof(float), mesh_.normals.data());
            queue().enqueueWriteBuffer(values, CL_TRUE, 0, count_ * variables * sizeof(float), result_.data());
            queue().enqueueWriteBuffer(far, CL_TRUE, 0, variables * sizeof(float), far_.data());
            queue().enqueueWriteBuffer(fluxes, CL_TRUE, 0, count_ * variables * sizeof(float), all_fluxes.data());
            run(queue(), find_fluxes_, count_, neighbours, normals, values, far, fluxes);
            queue().enqueueReadBuffer(fluxes, CL_TRUE, 0, count_ * variables * sizeof(float), all_fluxes.data());
            queue().enqueueWriteBuffer(old, CL_TRUE, 0, count_ * variables * sizeof(float), old_values.data());
            queue().enqueueWriteBuffer(steps, CL_TRUE, 0, count_ * sizeof(float), all_steps.data());
            queue().enqueueWriteBuffer(fluxes, CL_TRUE, 0, count_ * variables * sizeof(float), all_fluxes.data());
            queue().enqueueWriteBuffer(values, CL_TRUE, 0, count_ * variables * sizeof(float), result_.data());
            run(queue(), advance_, count_, old, steps, fluxes, values, stage);
            queue().enqueueReadBuffer(values, CL_TRUE, 0, count_ * variables * sizeof(float), result_.data());
        }
    }
}

void cfd::expert() {
    cl::Buffer far(context(), CL_MEM_READ_WRITE, variables * sizeof(float)),
        areas(context(), CL_MEM_READ_WRITE, count_ * sizeof(float)),
        normals(context(), CL_MEM_READ_WRITE, count_ * faces * 3 * sizeof(float)),
        steps(context(), CL_MEM_READ_WRITE, count_ * sizeof(float));
    cl::Buffer neighbours(context(), CL_MEM_READ_WRITE, count_ * faces * sizeof(int));
    cl::Buffer values(context(), CL_MEM_READ_WRITE, count_ * variables * sizeof(float)),
        old(context(), CL_MEM_READ_WRITE, count_ * variables * sizeof(float)),
        fluxes(context(), CL_MEM_READ_WRITE, count_ * variables * sizeof(float));
    queue().enqueueWriteBuffer(far, CL_TRUE, 0, variables * sizeof(float), far_.data());
    queue().enqueueWriteBuffer(areas, CL_TRUE, 0, count_ * sizeof(float), mesh_.areas.data());
    queue().enqueueWriteBuffer(neighbours, CL_TRUE, 0, count_ * faces * sizeof(int), mesh_.neighbours.data());
    queue().enqueueWriteBuffer(normals, CL_TRUE, 0, count_ * faces * 3 * sizeof(float), mesh_.normals.data());
    run(queue(), start_, count_, values, far);
    for (int round = 0; round < rounds_; ++round) {
        queue().enqueueCopyBuffer(values, old, 0, 0, count_ * variables * sizeof(float));
        run(queue(), find_steps_, count_, values, areas, steps);
        for (int stage = 0; stage < stages; ++stage) {
            run(queue(), find_fluxes_, count_, neighbours, normals, values, far, fluxes);
            run(queue(), advance_, count_, old, steps, fluxes, values, stage);
        }
    }
    queue().enqueueReadBuffer(values, CL_TRUE, 0, count_ * variables * sizeof(float), result_.data());
}

void cfd::by_unibuf(const unibuf::buffer_options& options) {
    using namespace unibuf;
    unified_buffer<float> far({variables}, options), areas({count_}, options), normals({count_ * faces * 3}, options);
    unified_buffer<int> neighbours({count_ * faces}, options);
    unified_buffer<float> steps({count_}, options), values({count_ * variables}, options);
    unified_buffer<float> old({count_ * variables}, options), fluxes({count_ * variables}, options);
    far.copy_from(far_, where());
    areas.copy_from(mesh_.areas, where());
    neighbours.copy_from(mesh_.neighbours, where());
    normals.copy_from(mesh_.normals, where());
    opencl::enqueue(start_(), count_, write(values), read(far));
    for (int round = 0; round < rounds_; ++round) {
        old.copy_from(values);
        opencl::enqueue(find_steps_(), count_, read(values), read(areas), write(steps));
        for (int stage = 0; stage < stages; ++stage) {
            opencl::enqueue(find_fluxes_(), count_, read(neighbours), read(normals), read(values), read(far),
                            write(fluxes));
            opencl::enqueue(advance_(), count_, read(old), read(steps), read(fluxes), write(values), stage);
        }
    }
    values.copy_to(result_, where());
}

void cfd::touches(ledger& told) const {
    told.make("far", variables, sizeof(float));
    told.make("areas", count_, sizeof(float));
    told.make("neighbours", count_ * faces, sizeof(int));
    told.make("normals", count_ * faces * 3, sizeof(float));
    told.make("steps", count_, sizeof(float));
    for (const char* each : {"values", "old", "fluxes"}) told.make(each, count_ * variables, sizeof(float));
    for (const char* each : {"far", "areas", "neighbours", "normals"}) told.host_writes(each);
    told.device_reads({"far"});
    told.device_writes({"values"});
    for (int round = 0; round < rounds_; ++round) {
        told.device_reads({"values", "areas"});
        told.device_writes({"old", "steps"});
        for (int stage = 0; stage < stages; ++stage) {
            told.device_reads({"neighbours", "normals", "values", "far"});
            told.device_writes({"fluxes"});
            told.device_reads({"old", "steps", "fluxes"});
            told.device_writes({"values"});
        }
    }
    told.host_reads("values");
}

const registered entry_of_cfd({.name = "cfd",
                               .origin = "Rodinia",
                               .problem = "60 rounds of the flow past a body, on a mesh of 97,152 elements",
                               .make = made<cfd>});

}  // namespace
}  // namespace suite::cfd_program
