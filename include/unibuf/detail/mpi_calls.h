// unibuf/detail/mpi_calls.h: what all calls of MPI have in common: may it be called, what does its error mean, how is a
// message cut whose bytes an int cannot count. For C, C++ and Fortran alike.
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

/// A message of more bytes goes in several.
#ifndef UNIBUF_MPI_PIECE
#define UNIBUF_MPI_PIECE (UNIBUF_CAST(size_t, 1) << 30)
#endif

static inline size_t unibuf_mpi_pieces(size_t bytes) { return (bytes + UNIBUF_MPI_PIECE - 1) / UNIBUF_MPI_PIECE; }

static inline int unibuf_mpi_piece(size_t left) {
    return UNIBUF_CAST(int, left < UNIBUF_MPI_PIECE ? left : UNIBUF_MPI_PIECE);
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
