// mpi/finalized.cpp: before MPI_Init and after MPI_Finalize errors are clear, and the end of a halo does no harm.
#include <cstdio>
#include <string>

#include "unibuf/mpi.hpp"

namespace {

int failures = 0;

template <class Call>
void expect_error(const std::string& says, Call call) {
    try {
        call();
    } catch (const unibuf::error& got) {
        if (got.code() == unibuf::error_code::invalid_argument &&
            std::string(got.what()).find(says) != std::string::npos)
            return;
        std::puts(got.what());
    }
    std::printf("no error that says '%s'\n", says.c_str());
    ++failures;
}

}  // namespace

int main(int argc, char** argv) {
    unibuf::unified_buffer<int> field({6});
    field.fill(1);
    expect_error("before MPI_Init", [&] { unibuf::mpi::halo(MPI_COMM_WORLD, {}, field); });
    MPI_Init(&argc, &argv);
    unibuf::mpi::halo edges(MPI_COMM_WORLD, {}, field);
    edges.exchange();
    MPI_Finalize();
    expect_error("after MPI_Finalize", [&] { edges.begin(); });
    expect_error("after MPI_Finalize", [&] { edges.finish(); });
    expect_error("after MPI_Finalize", [&] { unibuf::mpi::send(field, 0, 0, MPI_COMM_WORLD); });
    return failures;
}
