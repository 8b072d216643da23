// bench/mpi/main.cpp: unibuf_bench_mpi [FILE.json], which measures the claims about MPI on the processes of mpiexec.
// The first process prints what all of them have found.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "claim.hpp"
#include "settle.hpp"
#include "summary.hpp"

namespace {

/// Measures a case three times, at all processes alike; the one in the middle counts.
bench::figures measured(const bench::claim& claim, const bench::situation& one) {
    std::array<bench::figures, 3> found{};
    for (bench::figures& each : found) {
        MPI_Barrier(MPI_COMM_WORLD);
        each = one.measure();
    }
    std::ranges::sort(found, {}, [&](const bench::figures& each) { return claim.goal.margin(each); });
    return found[1];
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        std::vector<bench::outcome> outcomes;
        for (const bench::claim& each : bench::claims()) {
            outcomes.push_back(bench::settle(each, [&](const bench::situation& one) { return measured(each, one); }));
        }
        if (rank == 0) {
            if (argc > 1) std::ofstream(argv[1]) << bench::to_json(outcomes).dump(4) << '\n';
            fmt::print("{}", bench::to_table(outcomes));
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "unibuf_bench_mpi: %s\n", failure.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
