// mpi/halo.c: the glue for MPI, from C: a halo of two fields, messages, and what fails.
#include <stdlib.h>

#include "mpi/checks.h"

enum { rows = 6, columns = 5, cells = rows * columns };

static unibuf_space device;

/// Makes a field of doubles whose own rows are 10 * rank + row; the device alone has it.
static unibuf_buffer* field_of(int rank, double add) {
    unibuf_buffer* buffer = NULL;
    unibuf_lease lease;
    CHECK(unibuf_create(cells * sizeof(double), NULL, &buffer) == UNIBUF_OK);
    CHECK(unibuf_acquire(buffer, device, UNIBUF_WRITE, NULL, &lease) == UNIBUF_OK);
    double* const at = lease.data;
    for (int i = 0; i < cells; ++i) at[i] = 10 * rank + i / columns + add;
    unibuf_release(&lease);
    return buffer;
}

static uint64_t moved(const unibuf_buffer* buffer) {
    unibuf_statistics made;
    CHECK(unibuf_statistics_of(buffer, &made) == UNIBUF_OK);
    return made.bytes_moved;
}

static void exchange(int rank, int size) {
    unibuf_buffer* const first = field_of(rank, 0);
    unibuf_buffer* const second = field_of(rank, 0.5);
    const unibuf_halo_field fields[] = {{first, sizeof(double)}, {second, sizeof(double)}};
    const unibuf_halo_options options = {.axes = 2, .extents = {rows, columns}, .ghosts = {1}, .periodic = {true}};
    const int above = (rank + size - 1) % size;
    unibuf_halo* halo = NULL;
    unibuf_lease lease = UNIBUF_LEASE_INIT;
    bool arrived = false;
    CHECK(unibuf_halo_create(MPI_COMM_WORLD, &options, fields, 2, &halo) == UNIBUF_OK);
    CHECK(unibuf_halo_coordinates(halo)[0] == rank && unibuf_halo_ranks(halo)[0] == size);

    CHECK(unibuf_acquire(first, device, UNIBUF_WRITE, NULL, &lease) == UNIBUF_OK);
    CHECK(unibuf_halo_begin(halo) == UNIBUF_ACCESS_CONFLICT);
    unibuf_release(&lease);
    CHECK(unibuf_halo_finish(halo, 0) == UNIBUF_INVALID_ARGUMENT);
    CHECK(unibuf_halo_begin(halo) == UNIBUF_OK);
    CHECK(unibuf_halo_begin(halo) == UNIBUF_INVALID_ARGUMENT);
    CHECK(unibuf_halo_poll(halo, &arrived) == UNIBUF_OK);
    CHECK(unibuf_halo_finish(halo, UNIBUF_FOREVER) == UNIBUF_OK);

    const uint64_t row = columns * sizeof(double);
    CHECK(moved(first) == 4 * row && moved(second) == 4 * row);
    CHECK(unibuf_halo_neighbours(halo) == 2);
    CHECK(unibuf_halo_neighbour_at(halo, 0).rank == above);
    CHECK(unibuf_halo_neighbour_at(halo, 0).direction[0] == -1);
    CHECK(unibuf_halo_neighbour_at(halo, 0).bytes_sent == 2 * row);
    CHECK(unibuf_acquire(second, device, UNIBUF_READ, NULL, &lease) == UNIBUF_OK);
    const double* const at = lease.data;
    CHECK(at[0] == 10 * above + rows - 2 + 0.5);
    CHECK(at[cells - 1] == 10 * ((rank + 1) % size) + 1 + 0.5);
    CHECK(at[columns] == 10 * rank + 1 + 0.5);
    unibuf_release(&lease);
    CHECK(moved(second) == 4 * row);
    CHECK(unibuf_halo_exchange(halo, UNIBUF_FOREVER) == UNIBUF_OK);
    unibuf_halo_destroy(halo);
    unibuf_destroy(first);
    unibuf_destroy(second);
}

static void refuse(int rank) {
    unibuf_buffer* const field = field_of(rank, 0);
    const unibuf_halo_field one = {field, sizeof(double)};
    unibuf_halo_options options = {.axes = 2, .extents = {rows, columns}, .ghosts = {1}};
    unibuf_halo* halo = NULL;
    options.ghosts[0] = rank == 1 ? 2 : 1;
    CHECK(unibuf_halo_create(MPI_COMM_WORLD, &options, &one, 1, &halo) == UNIBUF_INVALID_ARGUMENT);
    CHECK(strstr(unibuf_mpi_message(), "rank 1: ") == unibuf_mpi_message());
    options.ghosts[0] = 1;
    options.extents[1] = rank == 1 ? 4 : columns;
    CHECK(unibuf_halo_create(MPI_COMM_WORLD, &options, &one, 1, &halo) == UNIBUF_INVALID_ARGUMENT);
    CHECK(strstr(unibuf_mpi_message(), "field 0 has 240 bytes; its extents are of 24 elements of 8"));
    options.extents[1] = columns;
    // What is wrong at one process is refused at all: none waits for another.
    const char* const null = "rank 1: a pointer is NULL";
    CHECK(unibuf_halo_create(MPI_COMM_WORLD, rank == 1 ? NULL : &options, &one, 1, &halo) == UNIBUF_INVALID_ARGUMENT);
    CHECK(strcmp(unibuf_mpi_message(), null) == 0);
    CHECK(unibuf_halo_create(MPI_COMM_WORLD, &options, rank == 1 ? NULL : &one, 1, &halo) == UNIBUF_INVALID_ARGUMENT);
    CHECK(strcmp(unibuf_mpi_message(), null) == 0);
    CHECK(unibuf_halo_create(MPI_COMM_WORLD, &options, &one, 1, rank == 1 ? NULL : &halo) == UNIBUF_INVALID_ARGUMENT);
    CHECK(strcmp(unibuf_mpi_message(), null) == 0);
    options.axes = 1;
    options.extents[0] = ((size_t)1 << 61) + cells;  // wraps to the field's bytes
    CHECK(unibuf_halo_create(MPI_COMM_WORLD, &options, &one, 1, &halo) == UNIBUF_INVALID_ARGUMENT);
    CHECK(strstr(unibuf_mpi_message(), "more bytes than can be counted"));
    CHECK(halo == NULL);
    unibuf_halo_destroy(halo);
    unibuf_destroy(field);
}

static void send_and_broadcast(int rank, int size) {
    unibuf_buffer* const field = field_of(rank, 0);
    unibuf_buffer *row = NULL, *ghost = NULL;
    double got[columns];
    CHECK(unibuf_view(field, columns * sizeof(double), sizeof got, &row) == UNIBUF_OK);
    CHECK(unibuf_view(field, 0, sizeof got, &ghost) == UNIBUF_OK);
    CHECK(unibuf_mpi_recv(ghost, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, 1000000) == UNIBUF_TIMEOUT);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(unibuf_mpi_send(row, (rank + 1) % size, 3, MPI_COMM_WORLD) == UNIBUF_OK);
    CHECK(unibuf_mpi_recv(ghost, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, UNIBUF_FOREVER) == UNIBUF_OK);
    CHECK(unibuf_copy_to(ghost, got, sizeof got, 0) == UNIBUF_OK);
    CHECK(got[columns - 1] == 10 * ((rank + size - 1) % size) + 1);
    CHECK(moved(field) == sizeof got);
    CHECK(unibuf_mpi_bcast(ghost, 1, MPI_COMM_WORLD) == UNIBUF_OK);
    CHECK(unibuf_copy_to(ghost, got, sizeof got, 0) == UNIBUF_OK);
    CHECK(got[0] == 1);
    CHECK(unibuf_mpi_bcast(rank == 0 ? field : row, 0, MPI_COMM_WORLD) == UNIBUF_INVALID_ARGUMENT);
    unibuf_destroy(row);
    unibuf_destroy(ghost);
    unibuf_destroy(field);
}

int main(int argc, char** argv) {
    int rank = 0, size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(unibuf_find_space("debug:0", &device) == UNIBUF_OK);
    exchange(rank, size);
    refuse(rank);
    send_and_broadcast(rank, size);
    MPI_Finalize();
    CHECK(unibuf_mpi_bcast(NULL, 0, MPI_COMM_WORLD) == UNIBUF_INVALID_ARGUMENT);
    return failures;
}
