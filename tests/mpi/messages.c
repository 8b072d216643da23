// mpi/messages.c: messages of several pieces, from C: one that is refused waits whole for the next call.
#include <stdlib.h>
#include <string.h>

#include "mpi/checks.h"

static const size_t piece = UNIBUF_MPI_PIECE;
static const int64_t long_enough = 60000000000;

static unibuf_buffer* buffer_of(size_t size, char value) {
    unibuf_buffer* buffer = NULL;
    CHECK(unibuf_create(size, NULL, &buffer) == UNIBUF_OK);
    CHECK(unibuf_fill(buffer, &value, 1) == UNIBUF_OK);
    return buffer;
}

static bool is_all(unibuf_buffer* buffer, char value) {
    const size_t size = unibuf_size(buffer);
    char* const got = malloc(size);
    bool is = got && unibuf_copy_to(buffer, got, size, 0) == UNIBUF_OK;
    for (size_t i = 0; is && i < size; ++i) is = got[i] == value;
    free(got);
    return is;
}

static bool is_refused(unibuf_buffer* buffer, int tag, const char* says) {
    return unibuf_mpi_recv(buffer, 0, tag, MPI_COMM_WORLD, long_enough) == UNIBUF_INVALID_ARGUMENT &&
           strstr(unibuf_mpi_message(), says);
}

int main(int argc, char** argv) {
    int rank = 0;
    char longer_has[40], one_has[40];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(longer_has, sizeof longer_has, "it has %zu", piece + piece / 2);
    snprintf(one_has, sizeof one_has, "it has %zu", piece);
    if (rank == 0) {
        unibuf_buffer* const half = buffer_of(piece / 2, 9);
        unibuf_buffer* const one = buffer_of(piece, 3);
        unibuf_buffer* const longer = buffer_of(piece + piece / 2, 7);
        CHECK(unibuf_mpi_send(longer, 1, 5, MPI_COMM_WORLD) == UNIBUF_OK);
        CHECK(unibuf_mpi_send(half, 1, 5, MPI_COMM_WORLD) == UNIBUF_OK);
        CHECK(unibuf_mpi_send(one, 1, 6, MPI_COMM_WORLD) == UNIBUF_OK);
        unibuf_destroy(half);
        unibuf_destroy(one);
        unibuf_destroy(longer);
    } else if (rank == 1) {
        unibuf_buffer* const half = buffer_of(piece / 2, 0);
        unibuf_buffer* const one = buffer_of(piece, 0);
        unibuf_buffer* const longer = buffer_of(piece + piece / 2, 0);
        CHECK(is_refused(one, 5, longer_has));
        CHECK(is_refused(half, 5, longer_has));
        CHECK(unibuf_mpi_recv(longer, 0, 7, MPI_COMM_WORLD, 20000000) == UNIBUF_TIMEOUT);
        CHECK(is_all(one, 0) && is_all(half, 0) && is_all(longer, 0));
        CHECK(unibuf_mpi_recv(longer, 0, 5, MPI_COMM_WORLD, long_enough) == UNIBUF_OK && is_all(longer, 7));
        CHECK(unibuf_mpi_recv(half, 0, 5, MPI_COMM_WORLD, long_enough) == UNIBUF_OK && is_all(half, 9));
        CHECK(is_refused(longer, 6, one_has));
        CHECK(unibuf_mpi_recv(one, 0, 6, MPI_COMM_WORLD, long_enough) == UNIBUF_OK && is_all(one, 3));
        unibuf_destroy(half);
        unibuf_destroy(one);
        unibuf_destroy(longer);
    }
    unibuf_buffer* huge = NULL;
    CHECK(unibuf_create((size_t)1 << 62, NULL, &huge) == UNIBUF_OK);
    CHECK(unibuf_mpi_send(huge, 1 - rank, 3, MPI_COMM_WORLD) == UNIBUF_OUT_OF_MEMORY);
    CHECK(unibuf_mpi_recv(huge, 1 - rank, 3, MPI_COMM_WORLD, 0) == UNIBUF_OUT_OF_MEMORY);
    CHECK(unibuf_mpi_bcast(huge, 0, MPI_COMM_WORLD) == UNIBUF_OUT_OF_MEMORY);
    unibuf_destroy(huge);
    // Without a buffer nothing is sent, and what has come stays.
    unibuf_buffer* const empty = buffer_of(0, 0);
    if (rank == 0) {
        CHECK(unibuf_mpi_send(NULL, MPI_PROC_NULL, 8, MPI_COMM_WORLD) == UNIBUF_INVALID_ARGUMENT);
        CHECK(unibuf_mpi_send(empty, 1, 8, MPI_COMM_WORLD) == UNIBUF_OK);
    } else if (rank == 1) {
        CHECK(unibuf_mpi_recv(NULL, 0, 8, MPI_COMM_WORLD, long_enough) == UNIBUF_INVALID_ARGUMENT);
        CHECK(strstr(unibuf_mpi_message(), "NULL was given where a buffer is needed"));
        CHECK(unibuf_mpi_recv(empty, 0, 8, MPI_COMM_WORLD, long_enough) == UNIBUF_OK);
    }
    CHECK(unibuf_mpi_bcast(rank == 0 ? empty : NULL, 0, MPI_COMM_WORLD) != UNIBUF_OK);
    unibuf_destroy(empty);
    bool arrived = false;
    CHECK(unibuf_halo_exchange(NULL, 0) == UNIBUF_INVALID_ARGUMENT);
    CHECK(unibuf_halo_finish(NULL, 0) == UNIBUF_INVALID_ARGUMENT);
    CHECK(unibuf_halo_poll(NULL, &arrived) == UNIBUF_INVALID_ARGUMENT);
    CHECK(unibuf_halo_neighbours(NULL) == 0 && unibuf_halo_neighbour_at(NULL, 0).rank == MPI_PROC_NULL);
    CHECK(!unibuf_halo_coordinates(NULL) && !unibuf_halo_ranks(NULL));
    MPI_Finalize();
    return failures;
}
