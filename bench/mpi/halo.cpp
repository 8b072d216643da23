// bench/mpi/halo.cpp: what an exchange of ghosts costs, beside the same by hand. All processes measure, in step.
#include <fmt/format.h>

#include <algorithm>

#include "by_hand.hpp"
#include "race.hpp"
#include "unibuf/mpi.hpp"

namespace {

namespace mpi = unibuf::mpi;

int rank() {
    int here = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &here);
    return here;
}

std::array<int, 2> neighbours() {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return {rank() == 0 ? MPI_PROC_NULL : rank() - 1, rank() + 1 == ranks ? MPI_PROC_NULL : rank() + 1};
}

/// Measures an exchange along one axis of a square field. At a device, the field is newest there, and used there after.
bench::figures along(std::size_t axis, unibuf::space where, std::size_t side) {
    unibuf::buffer_options options;
    options.device = where;
    options.hint = unibuf::memory_hint::gpu_preferred;
    unibuf::unified_buffer<double> field({side, side}, options);
    field.fill(rank());
    std::vector<std::size_t> ghosts(axis + 1);
    ghosts[axis] = 1;
    mpi::halo edges(MPI_COMM_WORLD, {.ghosts = ghosts}, field);

    const auto [before, after] = neighbours();
    const bool by_rows = axis == 0;
    const std::size_t step = by_rows ? side : 1, inner = side - 1;
    bench::exchange_by_hand by_hand(
        {bench::strip{before, step, 0}, bench::strip{after, (inner - 1) * step, inner * step}},
        {.count = by_rows ? 1 : side, .length = by_rows ? side : 1, .pitch = side});
    field.read(where).release();
    const auto exchange = [&] {
        edges.exchange();
        field.read(where).release();
    };
    const auto against = [&](auto array) {
        return bench::in_ns(
            bench::in_typical_turns(20, exchange, [&] { by_hand(array); }, [&] { field.mark_dirty(where); }));
    };
    if (where == unibuf::host) return against(bench::array_at_host(side * side));
    return against(bench::array_on_device(unibuf::opencl::handles_of(where), side * side));
}

/// Counts the exchanges in which a process has computed its inside before its neighbour begins: the neighbour waits to
/// be told so. Where begin() or a lease of the inside waited for messages, none would be.
bench::figures overlap() {
    constexpr int exchanges = 100;
    constexpr std::size_t side = 64;
    unibuf::unified_buffer<double> field({side, side});
    field.write("debug:0").release();
    mpi::halo edges(MPI_COMM_WORLD, {}, field);
    const auto [before, after] = neighbours();
    bench::figures found{0, exchanges};
    for (int i = 0; i < exchanges; ++i) {
        MPI_Recv(nullptr, 0, MPI_BYTE, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        edges.begin();
        const bool arrived = after != MPI_PROC_NULL && edges.poll();
        for (double& each : field.read_write("debug:0", {.offset = side, .count = (side - 2) * side})) each += 1;
        MPI_Send(nullptr, 0, MPI_BYTE, after, 7, MPI_COMM_WORLD);
        found.measured += !arrived;
        edges.finish();
    }
    return found;
}

std::vector<bench::situation> on_each(std::size_t axis) {
    std::vector<bench::situation> cases;
    for (const char* where : {"host", "opencl:0"}) {
        for (const std::size_t side : {1024U, 2048U}) {
            cases.push_back({fmt::format("{} of {} doubles, {}", axis == 0 ? "a row" : "a column", side, where),
                             [=] { return along(axis, where, side); }});
        }
    }
    return cases;
}

// An exchange is two copies past the host and a lease: 3 us of bookkeeping for a row, 5 for a column, whose ghosts are
// boxes in the directory.
const bench::declared row({.name = "mpi.row", .unit = "ns", .goal = bench::ratio_at_most(1.1), .cases = on_each(0)});
const bench::declared column(
    {.name = "mpi.column", .unit = "ns", .goal = bench::ratio_at_most(1.15), .cases = on_each(1)});
const bench::declared inside({.name = "mpi.overlap",
                              .unit = "of 100",
                              .goal = bench::ratio_at_least(1),
                              .cases = {{"the inside computed before the neighbour begins", overlap}}});

}  // namespace
