// unibuf/detail/mpi_calls.h: what all calls of MPI have in common: may it be called, what does its error mean, how are
// bytes sent that an int cannot count. For C, C++ and Fortran alike.
#pragma once

// The C++ bindings of old are not needed.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>
#include <sched.h>
#include <stdio.h>

#include "unibuf/unibuf.h"

#ifdef __cplusplus
#define UNIBUF_CAST(type, value) static_cast<type>(value)
#else
#define UNIBUF_CAST(type, value) ((type)(value))
#endif

/// A message of a halo and a broadcast go in pieces of at most so many bytes. Any other message of more bytes is
/// counted by a datatype.
#ifndef UNIBUF_MPI_PIECE
#define UNIBUF_MPI_PIECE (UNIBUF_CAST(size_t, 1) << 30)
#endif

static inline size_t unibuf_mpi_pieces(size_t bytes) { return (bytes + UNIBUF_MPI_PIECE - 1) / UNIBUF_MPI_PIECE; }

static inline int unibuf_mpi_piece(size_t left) {
    return UNIBUF_CAST(int, left < UNIBUF_MPI_PIECE ? left : UNIBUF_MPI_PIECE);
}

/// Bytes as MPI counts them.
typedef struct unibuf_mpi_bytes {
    int count;
    MPI_Datatype type;
} unibuf_mpi_bytes;

/// Counts bytes, by a datatype where an int may not be able to: MPI copies it as it does plain bytes, which they are.
static inline int unibuf_mpi_count(size_t size, unibuf_mpi_bytes* all) {
    all->count = UNIBUF_CAST(int, size);
    all->type = MPI_BYTE;
    if (size <= UNIBUF_MPI_PIECE) return MPI_SUCCESS;
    const size_t pieces = size / UNIBUF_MPI_PIECE;
    int lengths[2] = {UNIBUF_CAST(int, pieces), UNIBUF_CAST(int, size % UNIBUF_MPI_PIECE)};
    MPI_Aint places[2] = {0, UNIBUF_CAST(MPI_Aint, pieces * UNIBUF_MPI_PIECE)};
    MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_BYTE};
    all->count = 1;
    int failed = MPI_Type_contiguous(UNIBUF_CAST(int, UNIBUF_MPI_PIECE), MPI_BYTE, &types[0]);
    if (failed) return failed;
    failed = MPI_Type_create_struct(2, lengths, places, types, &all->type);
    MPI_Type_free(&types[0]);
    return failed ? failed : MPI_Type_commit(&all->type);
}

static inline void unibuf_mpi_uncount(unibuf_mpi_bytes* all) {
    if (all->type != MPI_BYTE) MPI_Type_free(&all->type);
}

static inline size_t unibuf_mpi_aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

static inline bool unibuf_mpi_is_up(void) {
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return initialized && !finalized;
}

/// Returns whether MPI may be called now, on this thread; else says why not.
static inline unibuf_status unibuf_mpi_usable(char* text, size_t room) {
    int finalized = 0, level = MPI_THREAD_MULTIPLE, is_main = 1;
    if (!unibuf_mpi_is_up()) {
        MPI_Finalized(&finalized);
        snprintf(text, room,
                 finalized ? "MPI was to be used after MPI_Finalize" : "MPI was to be used before MPI_Init");
        return UNIBUF_INVALID_ARGUMENT;
    }
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_SERIALIZED) MPI_Is_thread_main(&is_main);
    if (is_main) return UNIBUF_OK;
    snprintf(text, room,
             "MPI was to be used on another thread than the one that called MPI_Init: ask MPI_Init_thread for "
             "MPI_THREAD_SERIALIZED or more");
    return UNIBUF_INVALID_ARGUMENT;
}

/// Says what failed, and what MPI calls it.
static inline void unibuf_mpi_describe(char* text, size_t room, const char* what, int code) {
    char name[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (MPI_Error_string(code, name, &length) != MPI_SUCCESS) snprintf(name, sizeof name, "error %d", code);
    snprintf(text, room, "%s, but MPI failed: %.300s", what, name);
}

/// Lets others run for a moment: processes may be more than cores.
static inline void unibuf_mpi_pause(void) { sched_yield(); }
