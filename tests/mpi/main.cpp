// mpi/main.cpp: GoogleTest on several processes, all of which run the same tests. The first process reports. The exit
// status is 77 where all tests were skipped.
#include <gtest/gtest.h>

#include "unibuf/mpi.hpp"

int main(int argc, char** argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    testing::InitGoogleTest(&argc, argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) GTEST_FLAG_SET(brief, true);
    GTEST_FLAG_SET(color, "no");
    int failed = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    const testing::UnitTest& run = *testing::UnitTest::GetInstance();
    const bool skipped = run.skipped_test_count() == run.test_to_run_count();
    return failed == 0 && skipped ? 77 : failed;
}
