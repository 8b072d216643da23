// unibuf/detail/mpi_messages.h: one message, or one broadcast, of packed bytes. For C, C++ and Fortran alike.
#pragma once

#include <string.h>

#include "unibuf/detail/mpi_calls.h"

/// Sends bytes, in several messages of one tag where they are many.
static inline unibuf_status unibuf_message_send(const char* bytes, size_t size, int to, int tag, MPI_Comm comm,
                                                char* text, size_t room) {
    size_t done = 0;
    do {
        const int part = unibuf_mpi_piece(size - done);
        const int failed = MPI_Send(bytes + done, part, MPI_BYTE, to, tag, comm);
        if (failed) {
            unibuf_mpi_describe(text, room, "a message was to be sent", failed);
            return UNIBUF_TRANSFER_FAILED;
        }
        done += UNIBUF_CAST(size_t, part);
    } while (done < size);
    return UNIBUF_OK;
}

/// Waits for the next message of `from` and `tag`, which may be MPI_ANY_SOURCE and MPI_ANY_TAG, and leaves it there.
static inline unibuf_status unibuf_message_await(int from, int tag, MPI_Comm comm, int64_t timeout_ns,
                                                 MPI_Status* coming, char* text, size_t room) {
    int is_there = timeout_ns == UNIBUF_FOREVER;
    int failed = is_there ? MPI_Probe(from, tag, comm, coming) : MPI_SUCCESS;
    const double until = MPI_Wtime() + 1e-9 * UNIBUF_CAST(double, timeout_ns);
    while (!failed && !is_there) {
        failed = MPI_Iprobe(from, tag, comm, &is_there, coming);
        if (failed || is_there) break;
        if (MPI_Wtime() >= until) {
            snprintf(text, room, "a message from rank %d with tag %d has not come in time", from, tag);
            return UNIBUF_TIMEOUT;
        }
        unibuf_mpi_pause();
    }
    if (!failed) return UNIBUF_OK;
    unibuf_mpi_describe(text, room, "a message was to be received", failed);
    return UNIBUF_TRANSFER_FAILED;
}

/// Receives what unibuf_message_send has sent. A message of another size is UNIBUF_INVALID_ARGUMENT, and one that does
/// not come UNIBUF_TIMEOUT; both leave what comes to the next call.
static inline unibuf_status unibuf_message_receive(char* bytes, size_t size, int from, int tag, MPI_Comm comm,
                                                   int64_t timeout_ns, char* text, size_t room) {
    size_t done = 0;
    do {
        const int part = unibuf_mpi_piece(size - done);
        int comes = 0;
        MPI_Status coming;
        memset(&coming, 0, sizeof coming);
        const unibuf_status status = unibuf_message_await(from, tag, comm, timeout_ns, &coming, text, room);
        if (status != UNIBUF_OK) return status;
        int failed = MPI_Get_count(&coming, MPI_BYTE, &comes);
        if (!failed && comes != part) {
            snprintf(text, room, "a message of %d bytes from rank %d with tag %d was to be received; it has %d", part,
                     coming.MPI_SOURCE, coming.MPI_TAG, comes);
            return UNIBUF_INVALID_ARGUMENT;
        }
        from = coming.MPI_SOURCE;
        tag = coming.MPI_TAG;
        if (!failed) failed = MPI_Recv(bytes + done, part, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE);
        if (failed) {
            unibuf_mpi_describe(text, room, "a message was to be received", failed);
            return UNIBUF_TRANSFER_FAILED;
        }
        done += UNIBUF_CAST(size_t, part);
    } while (done < size);
    return UNIBUF_OK;
}

/// Sends bytes from `root` to all others. `fault` and `text` say what is wrong already with the caller's bytes: it
/// fails at all processes or at none, also where the sizes differ.
static inline unibuf_status unibuf_message_broadcast(char* bytes, size_t size, int root, MPI_Comm comm,
                                                     unibuf_status fault, char* text, size_t room) {
    // The greatest of these at all processes: a failure, and the most and the fewest bytes.
    unsigned long long mine[3] = {fault != UNIBUF_OK, size, ~UNIBUF_CAST(unsigned long long, size)};
    unsigned long long all[3] = {0, 0, 0};
    int failed = MPI_Allreduce(mine, all, 3, MPI_UNSIGNED_LONG_LONG, MPI_MAX, comm);
    if (fault != UNIBUF_OK) return fault;
    if (!failed && all[0]) {
        snprintf(text, room, "a broadcast from rank %d was to be made, but another process cannot take part", root);
        return UNIBUF_TRANSFER_FAILED;
    }
    if (!failed && all[1] != ~all[2]) {
        snprintf(text, room, "a broadcast from rank %d was to be made of %zu bytes here, and of %llu to %llu at others",
                 root, size, ~all[2], all[1]);
        return UNIBUF_INVALID_ARGUMENT;
    }
    for (size_t done = 0; !failed && done < size; done += UNIBUF_MPI_PIECE) {
        failed = MPI_Bcast(bytes + done, unibuf_mpi_piece(size - done), MPI_BYTE, root, comm);
    }
    if (!failed) return UNIBUF_OK;
    unibuf_mpi_describe(text, room, "a broadcast was to be made", failed);
    return UNIBUF_TRANSFER_FAILED;
}
