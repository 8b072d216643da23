// unibuf/detail/mpi_messages.h: one message, or one broadcast, of packed bytes. For C, C++ and Fortran alike.
#pragma once

#include <pthread.h>
#include <string.h>

#include "unibuf/detail/mpi_calls.h"

#ifdef __cplusplus
extern "C" {
#endif
/// Held while a message is looked at and taken, so that no other thread takes it in between. It is one for the whole
/// process, in however many sources and languages this is compiled.
__attribute__((weak, visibility("default"))) pthread_mutex_t unibuf_message_lock = PTHREAD_MUTEX_INITIALIZER;
#ifdef __cplusplus
}
#endif

/// Sends bytes as one message, however many they are: MPI tells the receiver their number before it takes the first.
static inline unibuf_status unibuf_message_send(const char* bytes, size_t size, int to, int tag, MPI_Comm comm,
                                                char* text, size_t room) {
    unibuf_mpi_bytes all;
    int failed = unibuf_mpi_count(size, &all);
    if (!failed) {
        failed = MPI_Send(bytes, all.count, all.type, to, tag, comm);
        unibuf_mpi_uncount(&all);
    }
    if (!failed) return UNIBUF_OK;
    unibuf_mpi_describe(text, room, "a message was to be sent", failed);
    return UNIBUF_TRANSFER_FAILED;
}

/// Takes the next message of `from` and `tag` if it has come and has `size` bytes, in one step. One of another size
/// stays with MPI. `comes` is how many bytes it has, or -1 where none has come; `next` is of whom it is.
static inline int unibuf_message_take(size_t size, int from, int tag, MPI_Comm comm, MPI_Message* taken,
                                      MPI_Count* comes, MPI_Status* next) {
    int is_there = 0;
    *taken = MPI_MESSAGE_NULL;
    *comes = -1;
    pthread_mutex_lock(&unibuf_message_lock);
    int failed = MPI_Iprobe(from, tag, comm, &is_there, next);
    if (!failed && is_there) failed = MPI_Get_elements_x(next, MPI_BYTE, comes);
    if (!failed && is_there && UNIBUF_CAST(size_t, *comes) == size) {
        failed = MPI_Improbe(next->MPI_SOURCE, next->MPI_TAG, comm, &is_there, taken, next);
        if (!is_there) *comes = -1;
    }
    pthread_mutex_unlock(&unibuf_message_lock);
    return failed;
}

/// Receives what unibuf_message_send has sent. A message of another size is UNIBUF_INVALID_ARGUMENT, and one that has
/// not come in time UNIBUF_TIMEOUT; both leave it whole to the next call, or to one of MPI's own. `from` and `tag` may
/// be MPI_ANY_SOURCE and MPI_ANY_TAG.
static inline unibuf_status unibuf_message_receive(char* bytes, size_t size, int from, int tag, MPI_Comm comm,
                                                   int64_t timeout_ns, char* text, size_t room) {
    const double until = MPI_Wtime() + 1e-9 * UNIBUF_CAST(double, timeout_ns);
    MPI_Message taken = MPI_MESSAGE_NULL;
    MPI_Count comes = -1;
    MPI_Status next;
    memset(&next, 0, sizeof next);
    int failed = unibuf_message_take(size, from, tag, comm, &taken, &comes, &next);
    while (!failed && comes < 0) {
        if (MPI_Wtime() >= until) {
            snprintf(text, room, "a message from rank %d with tag %d has not come in time", from, tag);
            return UNIBUF_TIMEOUT;
        }
        unibuf_mpi_pause();
        failed = unibuf_message_take(size, from, tag, comm, &taken, &comes, &next);
    }
    if (!failed && UNIBUF_CAST(size_t, comes) != size) {
        snprintf(text, room, "a message of %zu bytes from rank %d with tag %d was to be received; it has %lld", size,
                 next.MPI_SOURCE, next.MPI_TAG, UNIBUF_CAST(long long, comes));
        unibuf_mpi_pause();  // so that another thread comes to take it, where the program tries again at once
        return UNIBUF_INVALID_ARGUMENT;
    }
    unibuf_mpi_bytes all;
    if (!failed) failed = unibuf_mpi_count(size, &all);
    if (!failed) {
        failed = MPI_Mrecv(bytes, all.count, all.type, &taken, &next);
        unibuf_mpi_uncount(&all);
    }
    if (!failed) failed = MPI_Get_elements_x(&next, MPI_BYTE, &comes);
    if (failed) {
        unibuf_mpi_describe(text, room, "a message was to be received", failed);
        return UNIBUF_TRANSFER_FAILED;
    }
    if (UNIBUF_CAST(size_t, comes) == size) return UNIBUF_OK;
    snprintf(
        text, room,
        "a message of %zu bytes was to be received, but a call of MPI on another thread took it, and the next one, "
        "of %lld, is lost: receive the messages of one source and tag either by unibuf or by MPI",
        size, UNIBUF_CAST(long long, comes));
    return UNIBUF_TRANSFER_FAILED;
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
