// examples/halo: waves on a pond that is cut among processes, on an OpenCL device or on the host of each.
//
// Each step the cells at the sides go to the neighbours; while they are under way, the inside is computed. Of a field
// on a device only these cells come to the host, and only the ghosts go back. The first process compares the result
// with what one process alone makes of the same pond, and draws it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/arguments.hpp"
#include "common/opencl_api.hpp"
#include "halo/heights.hpp"
#include "unibuf/mpi.hpp"

namespace {

namespace cl = examples::cl;

using field = unibuf::unified_buffer<float>;

constexpr float speed = 0.25F;  // squared, in cells a step

constexpr const char* kernel = R"(
kernel void wave(global const float* now, global float* next, int width, int left, int top) {
    const int at = (get_global_id(1) + top) * width + get_global_id(0) + left;
    const float around = now[at - 1] + now[at + 1] + now[at - width] + now[at + width];
    next[at] = 2 * now[at] - next[at] + 0.25f * (around - 4 * now[at]);
}
)";

struct box {
    int left, top, width, height;
};

struct pond {
    int width = 512;
    int height = 512;
    int steps = 400;
};

/// Returns how high the water stands at first, after two drops have fallen.
float drop_at(const pond& of, int x, int y) {
    const auto from = [&](float cx, float cy) {
        const float dx = static_cast<float>(x) - cx * static_cast<float>(of.width);
        const float dy = static_cast<float>(y) - cy * static_cast<float>(of.height);
        return std::exp(-(dx * dx + dy * dy) / 50);
    };
    return from(0.3F, 0.4F) + from(0.7F, 0.6F) / 2;
}

/// A part of a pond, with one ghost at each side; ghosts without a neighbour stay 0: there is the shore.
class waves {
public:
    waves(unibuf::space where, const pond& of, const box& own)
        : where_(where), own_(own), now_(made(of)), before_(made(of)) {
        if (where != unibuf::host) compiled_.emplace(unibuf::opencl::handles_of(where), kernel, "wave");
    }

    /// Computes the next state of some own cells, counted from the first.
    void compute(const box& cells) {
        const int width = own_.width + 2;
        const int left = cells.left + 1, top = cells.top + 1;
        if (cells.width <= 0 || cells.height <= 0) return;
        if (compiled_) {
            unibuf::opencl::enqueue(where_, compiled_->native(), {cells.width, cells.height}, read(now_),
                                    read_write(before_), width, left, top);
            return;
        }
        const auto now = now_.read(where_);
        const auto next = before_.read_write(where_);
        const auto row = static_cast<std::size_t>(width);
        for (int y = top; y < top + cells.height; ++y) {
            for (int x = left; x < left + cells.width; ++x) {
                const std::size_t at = index_of(x, y);
                const float around = now[at - 1] + now[at + 1] + now[at - row] + now[at + row];
                next[at] = 2 * now[at] - next[at] + speed * (around - 4 * now[at]);
            }
        }
    }

    void compute_inside() { compute({1, 1, own_.width - 2, own_.height - 2}); }

    void compute_sides() {
        compute({0, 0, own_.width, 1});
        compute({0, own_.height - 1, own_.width, 1});
        compute({0, 1, 1, own_.height - 2});
        compute({own_.width - 1, 1, 1, own_.height - 2});
    }

    void turn() { std::swap(now_, before_); }

    field& now() { return now_; }
    field& before() { return before_; }

    /// Puts the own cells where they are in the whole pond.
    void place(std::vector<float>& whole, int width) const {
        std::vector<float> cells(now_.size());
        now_.copy_to(cells);
        for (int y = 0; y < own_.height; ++y) {
            const auto row = std::span(cells).subspan(index_of(1, y + 1), static_cast<std::size_t>(own_.width));
            std::ranges::copy(row, whole.begin() + std::ptrdiff_t{y + own_.top} * width + own_.left);
        }
    }

private:
    /// Returns where a cell is in memory, ghosts counted.
    std::size_t index_of(int x, int y) const {
        return static_cast<std::size_t>(y) * static_cast<std::size_t>(own_.width + 2) + static_cast<std::size_t>(x);
    }

    field made(const pond& of) const {
        unibuf::buffer_options options;
        options.device = where_;
        options.hint = unibuf::memory_hint::gpu_preferred;
        field result({own_.height + 2, own_.width + 2}, options);
        auto cells = result.write(unibuf::host);
        std::ranges::fill(cells, 0.0F);
        for (int y = 0; y < own_.height; ++y) {
            for (int x = 0; x < own_.width; ++x) {
                cells[index_of(x + 1, y + 1)] = drop_at(of, x + own_.left, y + own_.top);
            }
        }
        cells.release();
        result.read(where_).release();
        if (where_ != unibuf::host) result.mark_dirty(where_);  // the host forgets it, as after the first step
        return result;
    }

    unibuf::space where_;
    box own_;
    std::optional<cl::kernel_program> compiled_;
    field now_;
    field before_;
};

/// The processes, side by side: rows of them first.
class processes {
public:
    processes() {
        int size = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        const std::array<int, 2> periodic{};
        MPI_Dims_create(size, 2, ranks.data());
        MPI_Cart_create(MPI_COMM_WORLD, 2, ranks.data(), periodic.data(), 0, &comm);
        MPI_Comm_rank(comm, &rank);
    }
    ~processes() { MPI_Comm_free(&comm); }
    processes(const processes&) = delete;
    processes& operator=(const processes&) = delete;

    /// Returns which cells a process has.
    box part(int of, const pond& whole) const {
        std::array<int, 2> at{};
        MPI_Cart_coords(comm, of, 2, at.data());
        const auto first = [](int cells, int place, int places) { return cells * place / places; };
        const int top = first(whole.height, at[0], ranks[0]), left = first(whole.width, at[1], ranks[1]);
        return {left, top, first(whole.width, at[1] + 1, ranks[1]) - left,
                first(whole.height, at[0] + 1, ranks[0]) - top};
    }

    int size() const { return ranks[0] * ranks[1]; }

    std::array<int, 2> ranks{};
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
};

unibuf::space chosen(const std::string& name) {
    try {
        return name;
    } catch (const unibuf::error&) {
        return unibuf::host;
    }
}

std::vector<float> alone(const pond& of) {
    waves all(unibuf::host, of, {0, 0, of.width, of.height});
    for (int step = 0; step < of.steps; ++step) {
        all.compute({0, 0, of.width, of.height});
        all.turn();
    }
    std::vector<float> result(static_cast<std::size_t>(of.width) * static_cast<std::size_t>(of.height));
    all.place(result, of.width);
    return result;
}

void run(const pond& of, const std::string& space, const std::string& output) {
    const processes all;
    const unibuf::space where = chosen(space);
    waves here(where, of, all.part(all.rank, of));
    const unibuf::mpi::halo_options options{.ghosts = {1, 1}};
    unibuf::mpi::halo now(all.comm, options, here.now()), before(all.comm, options, here.before());
    for (int step = 0; step < of.steps; ++step) {
        now.begin();
        here.compute_inside();
        now.finish();
        here.compute_sides();
        here.turn();
        std::swap(now, before);
    }

    if (all.rank != 0) {
        unibuf::mpi::send(here.now(), 0, 0, all.comm);
        return;
    }
    const auto first = now.statistics(), second = before.statistics();
    std::uint64_t sent = 0;
    for (const auto& each : first.neighbours) sent += each.bytes_sent;
    for (const auto& each : second.neighbours) sent += each.bytes_sent;
    std::vector<float> whole(static_cast<std::size_t>(of.width) * static_cast<std::size_t>(of.height));
    here.place(whole, of.width);
    for (int rank = 1; rank < all.size(); ++rank) {
        waves there(unibuf::host, of, all.part(rank, of));
        unibuf::mpi::recv(there.now(), rank, 0, all.comm);
        there.place(whole, of.width);
    }
    const std::vector<float> wanted = alone(of);
    float error = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) error = std::max(error, std::abs(whole[i] - wanted[i]));
    if (!(error <= 1e-3F)) throw std::runtime_error(fmt::format("the waves differ by {} from one process's", error));
    const auto each_step = [&](std::uint64_t bytes) { return bytes / static_cast<std::uint64_t>(of.steps); };
    fmt::print("{} x {} cells, {} steps, {} x {} processes, on {}\n", of.width, of.height, of.steps, all.ranks[0],
               all.ranks[1], where.name());
    fmt::print("rank 0, each step: {} bytes to neighbours, {} from the device, {} to it; a field has {}\n",
               each_step(sent), each_step(first.bytes_from_devices + second.bytes_from_devices),
               each_step(first.bytes_to_devices + second.bytes_to_devices), here.now().size_bytes());
    fmt::print("largest difference from one process: {:.1e}\n", error);
    if (!output.empty()) halo::draw(whole, of.width, of.height, output);
}

}  // namespace

int main(int argc, char** argv) try {
    MPI_Init(&argc, &argv);
    pond of;
    std::string where = "opencl:0", output;
    examples::arguments told("Waves on a pond that is cut among the processes of mpiexec");
    told.number("--width", of.width, 8, 1 << 14);
    told.number("--height", of.height, 8, 1 << 14);
    told.number("--steps", of.steps, 1, 1 << 20);
    told.text("--space", where, "An OpenCL device; the host where it is not there");
    told.text("--output", output, "A picture of the result, PNG", "PNG");
    const std::optional<int> status = told.read(argc, argv);
    if (!status) run(of, where, output);
    MPI_Finalize();
    return status.value_or(0);
} catch (const std::exception& failed) {
    std::fprintf(stderr, "halo: %s\n", failed.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
}
