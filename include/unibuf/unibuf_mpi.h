// unibuf/unibuf_mpi.h: buffers between machines, by the program's own MPI, in C. Nothing else in unibuf knows MPI.
//
// Compile it with mpicc, and link with unibuf_c. The rules of unibuf.h hold here, but that unibuf_mpi_message() has the
// message of what failed. What is sent is packed under a short lease, and what has come is unpacked under one: just
// these bytes move, and no lease is held while a message is under way. Every call of MPI is made on the caller's
// thread. What MPI refuses is UNIBUF_TRANSFER_FAILED, where its error handler returns; a call before MPI_Init, after
// MPI_Finalize or on a thread that may not call MPI is UNIBUF_INVALID_ARGUMENT.
#pragma once

#ifdef __cplusplus
#error "in C++ there is unibuf/mpi.hpp"
#endif

#include <stdlib.h>

#include "unibuf/detail/halo_messages.h"
#include "unibuf/detail/mpi_messages.h"
#include "unibuf/unibuf.h"

/// Returns the text of this thread's last failure, of the functions below, in this source file.
static inline char* unibuf_mpi_message(void) {
    static _Thread_local char text[512];
    return text;
}

static inline unibuf_status unibuf_mpi_told(unibuf_status status, const char* text) {
    if (status != UNIBUF_OK) snprintf(unibuf_mpi_message(), 512, "%.511s", text);
    return status;
}

static inline unibuf_status unibuf_mpi_given(const void* pointer, const char* what) {
    if (pointer) return UNIBUF_OK;
    snprintf(unibuf_mpi_message(), 512, "NULL was given where %s is needed", what);
    return UNIBUF_INVALID_ARGUMENT;
}

// ---- Messages -------------------------------------------------------------------------------------------------------

/// Copies out what is newest, wherever that is.
static inline unibuf_status unibuf_mpi_copy_out(unibuf_buffer* buffer, char* bytes) {
    unibuf_space where = UNIBUF_HOST;
    unibuf_status status = unibuf_current_at(buffer, &where);
    if (status == UNIBUF_OK) status = unibuf_copy_to_at(buffer, bytes, unibuf_size(buffer), 0, where);
    return unibuf_mpi_told(status, unibuf_message());
}

/// Sends the newest content of a buffer or a view, wherever it is, as one message of MPI. Waits as MPI_Send does.
static inline unibuf_status unibuf_mpi_send(unibuf_buffer* buffer, int to, int tag, MPI_Comm comm) {
    const size_t size = unibuf_size(buffer);
    unibuf_status status = unibuf_mpi_usable(unibuf_mpi_message(), 512);
    if (status == UNIBUF_OK) status = unibuf_mpi_given(buffer, "a buffer");
    if (status != UNIBUF_OK || to == MPI_PROC_NULL) return status;
    char* const bytes = malloc(size + 1);
    if (!bytes) return unibuf_mpi_told(UNIBUF_OUT_OF_MEMORY, "memory for a message was asked for");
    status = unibuf_mpi_copy_out(buffer, bytes);
    if (status == UNIBUF_OK) status = unibuf_message_send(bytes, size, to, tag, comm, unibuf_mpi_message(), 512);
    free(bytes);
    return status;
}

/// Receives what unibuf_mpi_send has sent, and writes just these bytes. `from` and `tag` may be MPI_ANY_SOURCE and
/// MPI_ANY_TAG. UNIBUF_TIMEOUT where no message has come in time, and UNIBUF_INVALID_ARGUMENT for one of another size:
/// both leave the buffer as it was, and the message, when it comes, whole to the next call. Threads that receive the
/// same get messages of their size alone.
static inline unibuf_status unibuf_mpi_recv(unibuf_buffer* buffer, int from, int tag, MPI_Comm comm,
                                            int64_t timeout_ns) {
    const size_t size = unibuf_size(buffer);
    unibuf_status status = unibuf_mpi_usable(unibuf_mpi_message(), 512);
    if (status == UNIBUF_OK) status = unibuf_mpi_given(buffer, "a buffer");
    if (status != UNIBUF_OK || from == MPI_PROC_NULL) return status;
    char* const bytes = malloc(size + 1);
    if (!bytes) return unibuf_mpi_told(UNIBUF_OUT_OF_MEMORY, "memory for a message was asked for");
    status = unibuf_message_receive(bytes, size, from, tag, comm, timeout_ns, unibuf_mpi_message(), 512);
    if (status == UNIBUF_OK) status = unibuf_mpi_told(unibuf_copy_from(buffer, bytes, size, 0), unibuf_message());
    free(bytes);
    return status;
}

/// Gives all processes of `comm` what `root` has in a buffer or a view. All call it, with handles of the same size;
/// where the sizes differ, or the content cannot be read at `root`, it fails at all.
static inline unibuf_status unibuf_mpi_bcast(unibuf_buffer* buffer, int root, MPI_Comm comm) {
    const size_t size = unibuf_size(buffer);
    int rank = 0;
    unibuf_status status = unibuf_mpi_usable(unibuf_mpi_message(), 512);
    if (status != UNIBUF_OK) return status;
    MPI_Comm_rank(comm, &rank);
    char* const bytes = malloc(size + 1);
    if (!bytes) status = unibuf_mpi_told(UNIBUF_OUT_OF_MEMORY, "memory for a message was asked for");
    if (status == UNIBUF_OK) status = unibuf_mpi_given(buffer, "a buffer");
    if (status == UNIBUF_OK && rank == root) {
        status = unibuf_mpi_copy_out(buffer, bytes);
    }
    status = unibuf_message_broadcast(bytes, size, root, comm, status, unibuf_mpi_message(), 512);
    if (status == UNIBUF_OK && rank != root) {
        status = unibuf_mpi_told(unibuf_copy_from(buffer, bytes, size, 0), unibuf_message());
    }
    free(bytes);
    return status;
}

// ---- Halos ----------------------------------------------------------------------------------------------------------

/// A buffer as an array of elements, row-major.
typedef struct unibuf_halo_field {
    unibuf_buffer* buffer;
    size_t element_size;
} unibuf_halo_field;

/// How a grid is cut among processes, axis by axis.
typedef struct unibuf_halo_options {
    size_t axes;
    size_t extents[UNIBUF_HALO_AXES];  // elements along each axis, ghosts at both ends among them
    size_t ghosts[UNIBUF_HALO_AXES];   // how many at either end; an axis without is not cut
    bool periodic[UNIBUF_HALO_AXES];   // whether the last process is a neighbour of the first
    int ranks[UNIBUF_HALO_AXES];       // how many processes; 0 lets MPI choose
    bool corners;                      // whether ghosts at edges and corners are exchanged too
} unibuf_halo_options;

/// The ghosts of one or several fields, which are the cells of neighbours. Ends by unibuf_halo_destroy.
///
/// Up to three axes of a grid are cut among the processes of a communicator, by its own Cartesian topology where it has
/// one, else by one that MPI makes, with the ranks in their order. Where there is no neighbour, ghosts are left alone.
/// What goes to a neighbour is one message, of all fields. All processes make a halo, exchange and end it in the same
/// order. It has a communicator and message memory of its own, and keeps the buffers.
typedef struct unibuf_halo {
    unibuf_halo_messages messages;
    unibuf_buffer* buffers[UNIBUF_HALO_FIELDS];
    struct {
        unibuf_buffer* boxes[2];  // what comes, what goes; made when they are needed first
        unibuf_space by;          // where the cells were that have gone: the ghosts are put there
    }* strips;                    // of each side, of each field
} unibuf_halo;

/// Ends a halo, before MPI_Finalize; after that it leaves MPI alone.
static inline void unibuf_halo_destroy(unibuf_halo* halo) {
    if (!halo) return;
    const size_t strips = halo->strips ? UNIBUF_HALO_SIDES * halo->messages.shape.fields : 0;
    for (size_t strip = 0; strip < strips; ++strip) {
        for (int goes = 0; goes < 2; ++goes) unibuf_destroy(halo->strips[strip].boxes[goes]);
    }
    free(halo->strips);
    for (size_t field = 0; field < UNIBUF_HALO_FIELDS; ++field) unibuf_destroy(halo->buffers[field]);
    unibuf_messages_close(&halo->messages);
    free(halo);
}

static inline unibuf_status unibuf_halo_fault(unibuf_halo* halo, unibuf_status status, const char* text) {
    snprintf(halo->messages.message, sizeof halo->messages.message, "%.500s", text);
    return status;
}

static inline void unibuf_halo_lay_out(unibuf_halo_shape* shape, const unibuf_halo_options* options,
                                       const unibuf_halo_field* fields, size_t count) {
    shape->axes = options->axes;
    shape->corners = options->corners;
    shape->fields = count;
    for (size_t axis = 0; axis < options->axes && axis < UNIBUF_HALO_AXES; ++axis) {
        shape->extents[axis] = options->extents[axis];
        shape->ghosts[axis] = options->ghosts[axis];
        shape->periodic[axis] = options->periodic[axis];
        shape->ranks[axis] = options->ranks[axis];
    }
    for (size_t field = 0; field < count && field < UNIBUF_HALO_FIELDS; ++field) {
        shape->element_sizes[field] = fields[field].element_size;
    }
}

/// Takes handles of the fields, which have to be of the halo's shape, and makes room for their strips.
static inline unibuf_status unibuf_halo_keep(unibuf_halo* halo, const unibuf_halo_shape* shape,
                                             const unibuf_halo_field* fields) {
    for (size_t field = 0; field < shape->fields && field < UNIBUF_HALO_FIELDS; ++field) {
        const size_t element = shape->element_sizes[field];
        size_t bytes = 0;
        const unibuf_status status = unibuf_view(fields[field].buffer, 0, UNIBUF_REST, &halo->buffers[field]);
        if (status != UNIBUF_OK) return unibuf_halo_fault(halo, status, unibuf_message());
        // What cannot be counted, and elements without bytes, are found with the rest of the shape.
        if (element == 0 || !unibuf_halo_field_bytes(shape, element, &bytes)) continue;
        if (unibuf_size(halo->buffers[field]) == bytes) continue;
        snprintf(halo->messages.message, sizeof halo->messages.message,
                 "field %zu has %zu bytes; its extents are of %zu elements of %zu", field,
                 unibuf_size(halo->buffers[field]), bytes / element, element);
        return UNIBUF_INVALID_ARGUMENT;
    }
    if (shape->fields == 0 || shape->fields > UNIBUF_HALO_FIELDS) return UNIBUF_OK;  // found likewise
    halo->strips = calloc(UNIBUF_HALO_SIDES * shape->fields, sizeof *halo->strips);
    if (halo->strips) return UNIBUF_OK;
    return unibuf_halo_fault(halo, UNIBUF_OUT_OF_MEMORY, "memory for a halo was asked for");
}

/// Makes a halo, at all processes of `comm` or at none: where shapes, ghosts or elements do not fit, or a pointer is
/// NULL at one of them, all get UNIBUF_INVALID_ARGUMENT, and a message that says where.
static inline unibuf_status unibuf_halo_create(MPI_Comm comm, const unibuf_halo_options* options,
                                               const unibuf_halo_field* fields, size_t count, unibuf_halo** made) {
    unibuf_halo_shape shape = {0};
    unibuf_halo none = {0};  // where there is no memory for a halo, this tells the others
    unibuf_halo* const taken = calloc(1, sizeof *taken);
    unibuf_halo* const halo = taken ? taken : &none;
    unibuf_status status = UNIBUF_OK;
    if (!options || !fields || !made) {
        status = unibuf_halo_fault(halo, UNIBUF_INVALID_ARGUMENT, "a pointer is NULL");
    } else if (!taken) {
        status = unibuf_halo_fault(halo, UNIBUF_OUT_OF_MEMORY, "memory for a halo was asked for");
    } else {
        unibuf_halo_lay_out(&shape, options, fields, count);
        status = unibuf_halo_keep(halo, &shape, fields);
    }
    status = unibuf_mpi_told(unibuf_messages_open(&halo->messages, comm, &shape, status), halo->messages.message);
    if (status == UNIBUF_OK) {
        *made = halo;
    } else {
        unibuf_halo_destroy(taken);
    }
    return status;
}

/// Makes the box of a field that goes to a side, or comes from it, where it has not been made.
static inline unibuf_status unibuf_halo_box(unibuf_halo* halo, size_t side, size_t field, bool goes) {
    const unibuf_halo_shape* shape = &halo->messages.shape;
    const unibuf_halo_side* of = &halo->messages.sides[side];
    const size_t* const begin = goes ? of->out : of->in;
    unibuf_buffer** const box = &halo->strips[side * shape->fields + field].boxes[goes];
    if (*box) return UNIBUF_OK;
    size_t end[UNIBUF_HALO_AXES];
    for (size_t axis = 0; axis < shape->axes; ++axis) end[axis] = begin[axis] + of->count[axis];
    return unibuf_view_rect(halo->buffers[field], shape->element_sizes[field], shape->axes, shape->extents, begin, end,
                            box);
}

/// Packs what goes, or unpacks what came.
static inline unibuf_status unibuf_halo_copy(unibuf_halo* halo, bool goes) {
    const unibuf_halo_shape* shape = &halo->messages.shape;
    for (size_t i = 0; i < halo->messages.count; ++i) {
        const unibuf_halo_side* side = &halo->messages.sides[i];
        char* bytes = goes ? side->outgoing : side->incoming;
        for (size_t field = 0; field < shape->fields; ++field) {
            const size_t strip = i * shape->fields + field;
            unibuf_status status = unibuf_halo_box(halo, i, field, goes);
            unibuf_buffer* const box = halo->strips[strip].boxes[goes];
            unibuf_space* const by = &halo->strips[strip].by;
            const size_t size = unibuf_size(box);
            // With corners, cells go to several neighbours: they come to the host's copy once, for all of these.
            const bool may_pass_host = goes && !shape->corners;
            if (status == UNIBUF_OK && may_pass_host) status = unibuf_current_at(box, by);
            if (status == UNIBUF_OK) {
                status =
                    goes ? unibuf_copy_to_at(box, bytes, size, 0, *by) : unibuf_copy_from_at(box, bytes, size, 0, *by);
            }
            if (status != UNIBUF_OK) return unibuf_mpi_told(status, unibuf_message());
            bytes += size;
        }
    }
    return UNIBUF_OK;
}

/// Starts to send the cells at the sides, as they are now. The inside may be computed, and everything may be leased,
/// until unibuf_halo_finish. Where a side is leased, this fails as a lease does, and nothing has begun.
static inline unibuf_status unibuf_halo_begin(unibuf_halo* halo) {
    if (!halo) return unibuf_mpi_given(halo, "a halo");
    unibuf_halo_messages* const messages = &halo->messages;
    unibuf_status status = unibuf_mpi_told(unibuf_messages_may_begin(messages), messages->message);
    if (status == UNIBUF_OK) status = unibuf_halo_copy(halo, true);
    if (status == UNIBUF_OK) status = unibuf_mpi_told(unibuf_messages_start(messages), messages->message);
    return status;
}

/// Lets MPI work, which it does in calls alone, and writes whether all messages have come and gone.
static inline unibuf_status unibuf_halo_poll(unibuf_halo* halo, bool* arrived) {
    if (!halo) return unibuf_mpi_given(halo, "a halo");
    if (!arrived) return unibuf_mpi_given(arrived, "a place for the answer");
    return unibuf_mpi_told(unibuf_messages_poll(&halo->messages, arrived), halo->messages.message);
}

/// Waits for what the neighbours have sent, and writes the ghosts. UNIBUF_TIMEOUT where a message has not come or gone
/// in time; what a lease fails with where a ghost is leased. In both cases nothing is lost, and it may be called again.
static inline unibuf_status unibuf_halo_finish(unibuf_halo* halo, int64_t timeout_ns) {
    if (!halo) return unibuf_mpi_given(halo, "a halo");
    unibuf_halo_messages* const messages = &halo->messages;
    unibuf_status status = unibuf_mpi_told(unibuf_messages_wait(messages, timeout_ns), messages->message);
    if (status == UNIBUF_OK) status = unibuf_halo_copy(halo, false);
    if (status == UNIBUF_OK) unibuf_messages_finished(messages);
    return status;
}

static inline unibuf_status unibuf_halo_exchange(unibuf_halo* halo, int64_t timeout_ns) {
    const unibuf_status status = unibuf_halo_begin(halo);
    return status == UNIBUF_OK ? unibuf_halo_finish(halo, timeout_ns) : status;
}

/// Where this process is: its place along each axis, and how many there are along it. NULL without a halo.
static inline const int* unibuf_halo_coordinates(const unibuf_halo* halo) {
    return halo ? halo->messages.coordinates : NULL;
}
static inline const int* unibuf_halo_ranks(const unibuf_halo* halo) { return halo ? halo->messages.shape.ranks : NULL; }

/// What has gone to one neighbour, and come from there, until now.
typedef struct unibuf_halo_neighbour {
    int rank;
    const int* direction;  // -1, 0 or 1 along each axis
    uint64_t bytes_sent;
    uint64_t bytes_received;
} unibuf_halo_neighbour;

/// Returns 0 without a halo; the neighbour behind the last one is MPI_PROC_NULL.
static inline size_t unibuf_halo_neighbours(const unibuf_halo* halo) { return halo ? halo->messages.count : 0; }
static inline unibuf_halo_neighbour unibuf_halo_neighbour_at(const unibuf_halo* halo, size_t index) {
    if (index >= unibuf_halo_neighbours(halo)) {
        const unibuf_halo_neighbour none = {MPI_PROC_NULL, NULL, 0, 0};
        return none;
    }
    const unibuf_halo_side* const side = &halo->messages.sides[index];
    const uint64_t bytes = side->bytes * halo->messages.exchanges;
    const unibuf_halo_neighbour result = {side->rank, side->direction, bytes, bytes};
    return result;
}
