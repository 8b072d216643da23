// mpi/threads.c: threads that receive of one source and tag, where MPI may be called on all at once: each gets messages
// of its buffer's size alone, whole, and none is lost. Short messages, and messages of several pieces.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/checks.h"

enum { kinds = 2, receivers = 4, short_rounds = 4000, long_rounds = 60 };

static atomic_int left;     // messages that have not been received
static atomic_int askew;    // those whose bytes are not those of their size
static atomic_int refused;  // calls that failed as none should

struct work {
    size_t size;
    char value;
    int tag;
    int rounds;
};

static void* take(void* given) {
    const struct work* const mine = given;
    char* const got = malloc(mine->size);
    unibuf_buffer* buffer = NULL;
    if (!got || unibuf_create(mine->size, NULL, &buffer) != UNIBUF_OK) {
        ++refused;
        free(got);
        return NULL;
    }
    while (left > 0) {
        // A message of the other size is next: another thread takes it.
        const unibuf_status status = unibuf_mpi_recv(buffer, 0, mine->tag, MPI_COMM_WORLD, 2000000);
        if (status == UNIBUF_OK) {
            --left;
            unibuf_copy_to(buffer, got, mine->size, 0);
            for (size_t i = 0; i < mine->size; ++i) {
                if (got[i] == mine->value) continue;
                ++askew;
                break;
            }
        } else if (status != UNIBUF_TIMEOUT && status != UNIBUF_INVALID_ARGUMENT) {
            printf("%s: %s\n", unibuf_status_name(status), unibuf_mpi_message());
            --left;
            ++refused;
        }
    }
    unibuf_destroy(buffer);
    free(got);
    return NULL;
}

static void* give(void* given) {
    const struct work* const mine = given;
    unibuf_buffer* buffer = NULL;
    if (unibuf_create(mine->size, NULL, &buffer) != UNIBUF_OK || unibuf_fill(buffer, &mine->value, 1) != UNIBUF_OK) {
        ++refused;
    }
    for (int round = 0; round < mine->rounds; ++round) {
        if (unibuf_mpi_send(buffer, 1, mine->tag, MPI_COMM_WORLD) != UNIBUF_OK) ++refused;
    }
    unibuf_destroy(buffer);
    return NULL;
}

/// Sends messages of two sizes by two threads, and receives each size by two.
static void exchange(int rank, int tag, size_t first, size_t second, int rounds) {
    struct work works[kinds] = {{first, 1, tag, rounds}, {second, 2, tag, rounds}};
    pthread_t threads[receivers];
    const int count = rank == 0 ? kinds : receivers;
    left = kinds * rounds;
    for (int i = 0; i < count; ++i) {
        CHECK(pthread_create(&threads[i], NULL, rank == 0 ? give : take, &works[i % kinds]) == 0);
    }
    for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
    CHECK(askew == 0);
    CHECK(refused == 0);
}

int main(int argc, char** argv) {
    int rank = 0, level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (level == MPI_THREAD_MULTIPLE) {
        exchange(rank, 5, 64, 128, short_rounds);
        exchange(rank, 6, 2 * UNIBUF_MPI_PIECE + 1, 3 * UNIBUF_MPI_PIECE, long_rounds);
    } else if (rank == 0) {
        puts("SKIP: this MPI may not be called on several threads at once");
    }
    MPI_Finalize();
    return level == MPI_THREAD_MULTIPLE ? failures : 77;
}
