// unibuf/detail/halo_messages.h: the messages of a halo, as persistent requests of MPI. It knows no buffer: whoever has
// the fields packs what goes, and unpacks what came. For C, C++ and Fortran alike.
//
// Functions that can fail return a status, and leave a text in `message`. All MPI calls are made on the caller's
// thread.
#pragma once

#include "unibuf/detail/halo_sides.h"
#include "unibuf/detail/mpi_calls.h"

// MPICH declares MPI_STATUSES_IGNORE so that GCC takes it for an array without elements.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

typedef enum unibuf_messages_state {
    UNIBUF_MESSAGES_IDLE,
    UNIBUF_MESSAGES_STARTED,  // messages are under way
    UNIBUF_MESSAGES_ARRIVED   // what came is not unpacked yet
} unibuf_messages_state;

typedef struct unibuf_halo_messages {
    MPI_Comm comm;  // of its own, with a Cartesian topology
    unibuf_halo_shape shape;
    int rank;
    int coordinates[UNIBUF_HALO_AXES];  // of this process, along each axis
    size_t count;
    unibuf_halo_side sides[UNIBUF_HALO_SIDES];
    char* memory;
    MPI_Request* requests;  // those that receive, side by side, then those that send
    int request_count;
    unibuf_messages_state state;
    uint64_t exchanges;  // how many have been finished
    char message[512];
} unibuf_halo_messages;

static inline unibuf_status unibuf_messages_failed(unibuf_halo_messages* halo, const char* what, int code) {
    unibuf_mpi_describe(halo->message, sizeof halo->message, what, code);
    return UNIBUF_TRANSFER_FAILED;
}

/// Gives all processes the status and the message of one that has failed, so that none goes on alone.
static inline unibuf_status unibuf_messages_agree(unibuf_halo_messages* halo, unibuf_status mine) {
    struct {
        int status;
        int rank;
    } here, worst;
    here.status = -UNIBUF_CAST(int, mine);
    here.rank = halo->rank;
    int failed = MPI_Allreduce(&here, &worst, 1, MPI_2INT, MPI_MINLOC, halo->comm);
    if (failed) return unibuf_messages_failed(halo, "a halo was to be made", failed);
    if (worst.status == 0) return UNIBUF_OK;
    char text[sizeof halo->message];
    memcpy(text, halo->message, sizeof text);
    failed = MPI_Bcast(text, sizeof text, MPI_CHAR, worst.rank, halo->comm);
    if (failed) return unibuf_messages_failed(halo, "a halo was to be made", failed);
    snprintf(halo->message, sizeof halo->message, "rank %d: %.480s", worst.rank, text);
    return UNIBUF_CAST(unibuf_status, -worst.status);
}

/// Compares what must be the same at all processes with what the first of them has.
static inline unibuf_status unibuf_messages_compare(unibuf_halo_messages* halo) {
    const unibuf_halo_shape* mine = &halo->shape;
    unibuf_halo_shape first = *mine;
    char* text = halo->message;
    const size_t room = sizeof halo->message;
    const int failed = MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, halo->comm);
    if (failed) return unibuf_messages_failed(halo, "a halo was to be made", failed);
    text[0] = 0;
    if (mine->axes != first.axes || mine->fields != first.fields || mine->corners != first.corners) {
        snprintf(text, room, "it has %zu axes, %zu fields and %s corners; rank 0 has %zu, %zu and %s", mine->axes,
                 mine->fields, mine->corners ? "exchanges" : "no", first.axes, first.fields,
                 first.corners ? "exchanges them" : "none");
    }
    for (size_t axis = 0; !text[0] && axis < mine->axes; ++axis) {
        if (mine->ghosts[axis] != first.ghosts[axis]) {
            snprintf(text, room, "it has %zu ghosts along axis %zu; rank 0 has %zu", mine->ghosts[axis],
                     unibuf_halo_axis(mine, axis), first.ghosts[axis]);
        } else if (mine->ghosts[axis] == 0 && mine->extents[axis] != first.extents[axis]) {
            snprintf(text, room, "it has %zu elements along axis %zu, which is not cut; rank 0 has %zu",
                     mine->extents[axis], unibuf_halo_axis(mine, axis), first.extents[axis]);
        } else if (!mine->periodic[axis] != !first.periodic[axis] || mine->ranks[axis] != first.ranks[axis]) {
            snprintf(text, room, "axis %zu is cut among %d processes%s; at rank 0, among %d%s",
                     unibuf_halo_axis(mine, axis), mine->ranks[axis], mine->periodic[axis] ? ", periodic" : "",
                     first.ranks[axis], first.periodic[axis] ? ", periodic" : "");
        }
    }
    for (size_t field = 0; !text[0] && field < mine->fields; ++field) {
        if (mine->element_sizes[field] == first.element_sizes[field]) continue;
        snprintf(text, room, "field %zu has elements of %zu bytes; at rank 0, of %zu", field,
                 mine->element_sizes[field], first.element_sizes[field]);
    }
    return text[0] ? UNIBUF_INVALID_ARGUMENT : UNIBUF_OK;
}

/// Gives the halo a communicator with a Cartesian topology: that of the program's own, where it has one.
static inline unibuf_status unibuf_messages_arrange(unibuf_halo_messages* halo) {
    int size = 0, topology = 0, cuts = 0, product = 1, chosen = 1, failed = 0;
    int ranks[UNIBUF_HALO_CUTS] = {0}, periodic[UNIBUF_HALO_CUTS] = {0}, here[UNIBUF_HALO_CUTS] = {0};
    unibuf_halo_shape* shape = &halo->shape;
    for (size_t axis = 0; axis < shape->axes; ++axis) {
        if (shape->ghosts[axis] == 0) continue;
        ranks[cuts] = shape->ranks[axis];
        periodic[cuts++] = shape->periodic[axis] != 0;
    }
    failed = MPI_Comm_size(halo->comm, &size);
    if (!failed) failed = MPI_Topo_test(halo->comm, &topology);
    if (failed) return unibuf_messages_failed(halo, "a halo was to be made", failed);
    if (topology == MPI_CART) {
        int has = 0;
        failed = MPI_Cartdim_get(halo->comm, &has);
        if (!failed && has != cuts) {
            snprintf(halo->message, sizeof halo->message,
                     "the communicator has a topology of %d axes; the halo has ghosts along %d", has, cuts);
            return UNIBUF_INVALID_ARGUMENT;
        }
    } else {
        for (int cut = 0; cut < cuts; ++cut) chosen *= ranks[cut] ? ranks[cut] : 1;
        if (size % chosen == 0) failed = MPI_Dims_create(size, cuts, ranks);
        for (int cut = 0; cut < cuts; ++cut) product *= ranks[cut];
        if (product != size) {
            snprintf(halo->message, sizeof halo->message,
                     "%d processes cannot be arranged as was asked for: the ranks along the axes give %d", size,
                     chosen);
            return UNIBUF_INVALID_ARGUMENT;
        }
        MPI_Comm arranged = MPI_COMM_NULL;
        if (!failed) failed = MPI_Cart_create(halo->comm, cuts, ranks, periodic, 0, &arranged);
        if (failed) return unibuf_messages_failed(halo, "a halo was to be made", failed);
        MPI_Comm_free(&halo->comm);
        halo->comm = arranged;
        MPI_Comm_set_errhandler(halo->comm, MPI_ERRORS_RETURN);
    }
    if (!failed) failed = MPI_Cart_get(halo->comm, cuts, ranks, periodic, here);
    if (failed) return unibuf_messages_failed(halo, "a halo was to be made", failed);
    for (size_t axis = 0, cut = 0; axis < shape->axes; ++axis) {
        shape->ranks[axis] = shape->ghosts[axis] ? ranks[cut] : 1;
        shape->periodic[axis] = shape->ghosts[axis] ? periodic[cut] : 0;
        halo->coordinates[axis] = shape->ghosts[axis] ? here[cut++] : 0;
    }
    return UNIBUF_OK;
}

/// Finds the neighbours.
static inline unibuf_status unibuf_messages_find_sides(unibuf_halo_messages* halo) {
    const unibuf_halo_shape* shape = &halo->shape;
    halo->count = 0;
    for (int place = 0; place < 27; ++place) {
        unibuf_halo_side* side = &halo->sides[halo->count];
        int there[UNIBUF_HALO_CUTS];
        int cut = 0;
        bool exists = unibuf_halo_side_at(shape, place, side);
        for (size_t axis = 0; exists && axis < shape->axes; ++axis) {
            if (shape->ghosts[axis] == 0) continue;
            const int at = halo->coordinates[axis] + side->direction[axis];
            exists = shape->periodic[axis] || (at >= 0 && at < shape->ranks[axis]);
            there[cut++] = (at + shape->ranks[axis]) % shape->ranks[axis];
        }
        if (!exists) continue;
        const int failed = MPI_Cart_rank(halo->comm, there, &side->rank);
        if (failed) return unibuf_messages_failed(halo, "a halo was to be made", failed);
        if (++halo->count == UNIBUF_HALO_SIDES) break;
    }
    return UNIBUF_OK;
}

/// Compares the boxes of both ends of each message, along every axis.
static inline unibuf_status unibuf_messages_compare_sides(unibuf_halo_messages* halo) {
    size_t theirs[UNIBUF_HALO_SIDES][UNIBUF_HALO_AXES];
    MPI_Request requests[2 * UNIBUF_HALO_SIDES];
    int started = 0, failed = 0;
    for (size_t i = 0; !failed && i < halo->count; ++i) {
        const unibuf_halo_side* side = &halo->sides[i];
        failed = MPI_Irecv(theirs[i], sizeof theirs[i], MPI_BYTE, side->rank, side->opposite, halo->comm,
                           &requests[started]);
        started += !failed;
        if (failed) break;
        failed = MPI_Isend(side->count, sizeof side->count, MPI_BYTE, side->rank, side->place, halo->comm,
                           &requests[started]);
        started += !failed;
    }
    if (!failed) failed = MPI_Waitall(started, requests, MPI_STATUSES_IGNORE);
    if (failed) return unibuf_messages_failed(halo, "a halo was to be made", failed);
    for (size_t i = 0; i < halo->count; ++i) {
        for (size_t axis = 0; axis < halo->shape.axes; ++axis) {
            if (halo->sides[i].count[axis] == theirs[i][axis]) continue;
            snprintf(halo->message, sizeof halo->message,
                     "a message to rank %d has %zu elements along axis %zu; what comes from there has %zu",
                     halo->sides[i].rank, halo->sides[i].count[axis], unibuf_halo_axis(&halo->shape, axis),
                     theirs[i][axis]);
            return UNIBUF_INVALID_ARGUMENT;
        }
    }
    return UNIBUF_OK;
}

/// Allocates memory for the messages, and binds requests to it.
static inline unibuf_status unibuf_messages_bind(unibuf_halo_messages* halo) {
    size_t bytes = 0, pieces = 0, at = 0;
    int failed = 0;
    for (size_t i = 0; i < halo->count; ++i) {
        bytes += 2 * unibuf_mpi_aligned(halo->sides[i].bytes);
        pieces += 2 * unibuf_mpi_pieces(halo->sides[i].bytes);
    }
    if (pieces == 0) return UNIBUF_OK;
    failed = MPI_Alloc_mem(UNIBUF_CAST(MPI_Aint, bytes), MPI_INFO_NULL, &halo->memory);
    if (!failed) {
        failed = MPI_Alloc_mem(UNIBUF_CAST(MPI_Aint, pieces * sizeof(MPI_Request)), MPI_INFO_NULL, &halo->requests);
    }
    if (failed) {
        unibuf_messages_failed(halo, "memory for the messages of a halo was asked for", failed);
        return UNIBUF_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < halo->count; ++i) {
        unibuf_halo_side* side = &halo->sides[i];
        side->incoming = halo->memory + at;
        side->outgoing = side->incoming + unibuf_mpi_aligned(side->bytes);
        at += 2 * unibuf_mpi_aligned(side->bytes);
    }
    for (int sends = 0; sends < 2; ++sends) {
        for (size_t i = 0; i < halo->count; ++i) {
            const unibuf_halo_side* side = &halo->sides[i];
            for (size_t done = 0; done < side->bytes; done += UNIBUF_MPI_PIECE) {
                const int part = unibuf_mpi_piece(side->bytes - done);
                MPI_Request* request = &halo->requests[halo->request_count];
                failed = sends ? MPI_Send_init(side->outgoing + done, part, MPI_BYTE, side->rank, side->place,
                                               halo->comm, request)
                               : MPI_Recv_init(side->incoming + done, part, MPI_BYTE, side->rank, side->opposite,
                                               halo->comm, request);
                if (failed) return unibuf_messages_failed(halo, "a halo was to be made", failed);
                ++halo->request_count;
            }
        }
    }
    return UNIBUF_OK;
}

/// Ends the halo. Messages that are under way are given up: the memory that MPI may still read is left to it, and so is
/// the communicator, or a later one of the same number would receive them. After MPI_Finalize nothing is left to do.
static inline void unibuf_messages_close(unibuf_halo_messages* halo) {
    bool in_use = false;
    const bool under_way = halo->state == UNIBUF_MESSAGES_STARTED;
    if (halo->comm == MPI_COMM_NULL || !unibuf_mpi_is_up()) return;
    for (int i = 0; i < halo->request_count; ++i) {
        int done = 1;
        if (under_way) {
            MPI_Test(&halo->requests[i], &done, MPI_STATUS_IGNORE);
            if (!done && i < halo->request_count / 2) {
                MPI_Cancel(&halo->requests[i]);
                MPI_Wait(&halo->requests[i], MPI_STATUS_IGNORE);
                done = 1;
            }
        }
        in_use = in_use || !done;
        MPI_Request_free(&halo->requests[i]);
    }
    if (halo->requests) MPI_Free_mem(halo->requests);
    if (halo->memory && !in_use) MPI_Free_mem(halo->memory);
    if (!under_way) MPI_Comm_free(&halo->comm);
    memset(halo, 0, sizeof *halo);
    halo->comm = MPI_COMM_NULL;
}

/// Makes the messages of a halo. All processes of `comm` call it, and it fails at all of them or at none.
/// `fault` and `halo->message` say what is wrong already with the caller's fields. Where it fails, nothing is left to
/// close.
static inline unibuf_status unibuf_messages_open(unibuf_halo_messages* halo, MPI_Comm comm,
                                                 const unibuf_halo_shape* shape, unibuf_status fault) {
    int failed = 0;
    halo->comm = MPI_COMM_NULL;
    halo->shape = *shape;
    halo->count = 0;
    halo->memory = NULL;
    halo->requests = NULL;
    halo->request_count = 0;
    halo->state = UNIBUF_MESSAGES_IDLE;
    halo->exchanges = 0;
    unibuf_status status = unibuf_mpi_usable(halo->message, sizeof halo->message);
    if (status != UNIBUF_OK) return status;
    failed = MPI_Comm_dup(comm, &halo->comm);
    if (failed) return unibuf_messages_failed(halo, "a communicator was to be copied", failed);
    MPI_Comm_set_errhandler(halo->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(halo->comm, &halo->rank);
    status = fault;
    if (status == UNIBUF_OK) status = unibuf_halo_check(shape, halo->message, sizeof halo->message);
    status = unibuf_messages_agree(halo, status);
    if (status == UNIBUF_OK) status = unibuf_messages_agree(halo, unibuf_messages_compare(halo));
    if (status == UNIBUF_OK) status = unibuf_messages_arrange(halo);  // the same at all of them
    if (status == UNIBUF_OK) status = unibuf_messages_find_sides(halo);
    if (status == UNIBUF_OK) status = unibuf_messages_agree(halo, unibuf_messages_compare_sides(halo));
    if (status == UNIBUF_OK) status = unibuf_messages_agree(halo, unibuf_messages_bind(halo));
    if (status == UNIBUF_OK) return status;
    char text[sizeof halo->message];
    memcpy(text, halo->message, sizeof text);
    unibuf_messages_close(halo);
    memcpy(halo->message, text, sizeof text);
    return status;
}

/// Returns whether an exchange may begin, before anything is packed.
static inline unibuf_status unibuf_messages_may_begin(unibuf_halo_messages* halo) {
    const unibuf_status status = unibuf_mpi_usable(halo->message, sizeof halo->message);
    if (status != UNIBUF_OK || halo->state == UNIBUF_MESSAGES_IDLE) return status;
    snprintf(halo->message, sizeof halo->message, "an exchange was to begin, but the one before has not been finished");
    return UNIBUF_INVALID_ARGUMENT;
}

/// Starts all messages: what goes has been packed.
static inline unibuf_status unibuf_messages_start(unibuf_halo_messages* halo) {
    halo->state = UNIBUF_MESSAGES_STARTED;
    const int failed = halo->request_count > 0 ? MPI_Startall(halo->request_count, halo->requests) : MPI_SUCCESS;
    return failed ? unibuf_messages_failed(halo, "an exchange was to begin", failed) : UNIBUF_OK;
}

/// Lets MPI work, and returns whether all messages have come and gone.
static inline unibuf_status unibuf_messages_poll(unibuf_halo_messages* halo, bool* arrived) {
    int done = 1;
    *arrived = halo->state == UNIBUF_MESSAGES_ARRIVED;
    const unibuf_status status = unibuf_mpi_usable(halo->message, sizeof halo->message);
    if (status != UNIBUF_OK || halo->state != UNIBUF_MESSAGES_STARTED) return status;
    const int failed = halo->request_count > 0
                           ? MPI_Testall(halo->request_count, halo->requests, &done, MPI_STATUSES_IGNORE)
                           : MPI_SUCCESS;
    if (failed) return unibuf_messages_failed(halo, "an exchange was under way", failed);
    if (done) halo->state = UNIBUF_MESSAGES_ARRIVED;
    *arrived = done != 0;
    return UNIBUF_OK;
}

/// Says which message has not come, or not gone.
static inline void unibuf_messages_name_missing(unibuf_halo_messages* halo) {
    int number = 0;
    for (int sends = 0; sends < 2; ++sends) {
        for (size_t i = 0; i < halo->count; ++i) {
            const unibuf_halo_side* side = &halo->sides[i];
            for (size_t done = 0; done < side->bytes; done += UNIBUF_MPI_PIECE, ++number) {
                int arrived = 0;
                if (MPI_Request_get_status(halo->requests[number], &arrived, MPI_STATUS_IGNORE) || arrived) continue;
                snprintf(halo->message, sizeof halo->message,
                         "a message %s rank %d with tag %d, of %zu bytes, has not %s in time; finish() may be called "
                         "again",
                         sends ? "to" : "from", side->rank, sends ? side->place : side->opposite, side->bytes,
                         sends ? "gone" : "come");
                return;
            }
        }
    }
    snprintf(halo->message, sizeof halo->message, "the last message came too late; finish() may be called again");
}

/// Waits until all messages have come and gone: then what came can be unpacked. After UNIBUF_TIMEOUT they are still
/// under way, and it may be called again.
static inline unibuf_status unibuf_messages_wait(unibuf_halo_messages* halo, int64_t timeout_ns) {
    bool arrived = false;
    unibuf_status status = unibuf_messages_poll(halo, &arrived);
    if (status != UNIBUF_OK || arrived) return status;
    if (halo->state == UNIBUF_MESSAGES_IDLE) {
        snprintf(halo->message, sizeof halo->message, "an exchange was to be finished, but none has begun");
        return UNIBUF_INVALID_ARGUMENT;
    }
    if (timeout_ns == UNIBUF_FOREVER) {
        const int failed = MPI_Waitall(halo->request_count, halo->requests, MPI_STATUSES_IGNORE);
        if (failed) return unibuf_messages_failed(halo, "an exchange was under way", failed);
        halo->state = UNIBUF_MESSAGES_ARRIVED;
        return UNIBUF_OK;
    }
    const double until = MPI_Wtime() + 1e-9 * UNIBUF_CAST(double, timeout_ns);
    while (status == UNIBUF_OK && !arrived) {
        if (MPI_Wtime() >= until) {
            unibuf_messages_name_missing(halo);
            return UNIBUF_TIMEOUT;
        }
        unibuf_mpi_pause();
        status = unibuf_messages_poll(halo, &arrived);
    }
    return status;
}

/// Says that what came has been unpacked.
static inline void unibuf_messages_finished(unibuf_halo_messages* halo) {
    halo->state = UNIBUF_MESSAGES_IDLE;
    ++halo->exchanges;
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
