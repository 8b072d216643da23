// unibuf_mpi_calls.c: what the module unibuf_mpi calls of MPI. It is compiled with the program's own MPI, as the module
// is.
//
// Communicators come as the integers that Fortran has for them; no array of Fortran is given to MPI.
#include <stdlib.h>
#include <unibuf/detail/halo_messages.h>
#include <unibuf/detail/mpi_messages.h>

enum { text_size = 512 };

/// Makes the messages of a halo, at all processes or at none. `text` says what is wrong already, and what failed.
int unibuf_mpi_open(int comm, int axes, const int64_t* extents, const int* ghosts, const int* periodic,
                    const int* ranks, int corners, int fields, const int64_t* element_sizes, int fault, char* text,
                    unibuf_halo_messages** made) {
    unibuf_halo_shape shape = {0};
    unibuf_halo_messages* const halo = calloc(1, sizeof *halo);
    if (!halo) return UNIBUF_OUT_OF_MEMORY;
    shape.fortran = 1;
    shape.axes = (size_t)axes;
    shape.corners = corners;
    shape.fields = (size_t)fields;
    for (int axis = 0; axis < axes && axis < UNIBUF_HALO_AXES; ++axis) {
        shape.extents[axis] = (size_t)extents[axis];
        shape.ghosts[axis] = (size_t)ghosts[axis];
        shape.periodic[axis] = periodic[axis];
        shape.ranks[axis] = ranks[axis];
    }
    for (int field = 0; field < fields && field < UNIBUF_HALO_FIELDS; ++field) {
        shape.element_sizes[field] = (size_t)element_sizes[field];
    }
    memcpy(halo->message, text, text_size);
    const int status = (int)unibuf_messages_open(halo, MPI_Comm_f2c((MPI_Fint)comm), &shape, (unibuf_status)fault);
    memcpy(text, halo->message, text_size);
    *made = halo;
    if (status == UNIBUF_OK) return status;
    *made = NULL;
    free(halo);
    return status;
}

void unibuf_mpi_close(unibuf_halo_messages* halo) {
    if (halo) unibuf_messages_close(halo);
    free(halo);
}

/// Returns whether an exchange may begin.
int unibuf_mpi_may_begin(unibuf_halo_messages* halo) { return (int)unibuf_messages_may_begin(halo); }

int unibuf_mpi_start(unibuf_halo_messages* halo) { return (int)unibuf_messages_start(halo); }

int unibuf_mpi_poll(unibuf_halo_messages* halo, int* arrived) {
    bool all = false;
    const int status = (int)unibuf_messages_poll(halo, &all);
    *arrived = all;
    return status;
}

int unibuf_mpi_wait(unibuf_halo_messages* halo, int64_t timeout_ns) {
    return (int)unibuf_messages_wait(halo, timeout_ns);
}

void unibuf_mpi_finished(unibuf_halo_messages* halo) { unibuf_messages_finished(halo); }

void unibuf_mpi_text(const unibuf_halo_messages* halo, char* text) { memcpy(text, halo->message, text_size); }

/// Gives the next box of what goes, or of what came: where it lies in its field, which is seen as an array of bytes in
/// Fortran's order with bounds that count from 1, and in the message. Returns its size in bytes; 0 after the last. `at`
/// is 0, 0 and 0 at first.
int64_t unibuf_mpi_next_box(const unibuf_halo_messages* halo, int goes, int64_t at[3], int* field, int* axes,
                            int* extents, int* lower, int* upper, char** bytes) {
    const unibuf_halo_shape* const shape = &halo->shape;
    if ((size_t)at[0] == halo->count) return 0;
    const unibuf_halo_side* const side = &halo->sides[at[0]];
    const size_t* const begin = goes ? side->out : side->in;
    const size_t element = shape->element_sizes[at[1]];
    *field = (int)at[1] + 1;
    *axes = (int)shape->axes;
    for (size_t axis = 0; axis < shape->axes; ++axis) {
        const size_t each = axis == 0 ? element : 1;  // along the first axis elements lie as bytes
        extents[axis] = (int)(shape->extents[axis] * each);
        lower[axis] = (int)(begin[axis] * each) + 1;
        upper[axis] = (int)((begin[axis] + side->count[axis]) * each);
    }
    *bytes = (goes ? side->outgoing : side->incoming) + at[2];
    const int64_t size = (int64_t)(side->elements * element);
    at[2] += size;
    if ((size_t)++at[1] == shape->fields) {
        ++at[0];
        at[1] = at[2] = 0;
    }
    return size;
}

/// Tells of a neighbour: its rank, where it lies, and what has gone there and come from there.
int unibuf_mpi_neighbour(const unibuf_halo_messages* halo, int index, int* rank, int* direction, int64_t* bytes) {
    if (index < 1 || (size_t)index > halo->count) return UNIBUF_OUT_OF_RANGE;
    const unibuf_halo_side* const side = &halo->sides[index - 1];
    *rank = side->rank;
    *bytes = (int64_t)(side->bytes * halo->exchanges);
    memcpy(direction, side->direction, halo->shape.axes * sizeof *direction);
    return UNIBUF_OK;
}

int unibuf_mpi_neighbours(const unibuf_halo_messages* halo) { return (int)halo->count; }

void unibuf_mpi_place(const unibuf_halo_messages* halo, int* coordinates, int* ranks) {
    memcpy(coordinates, halo->coordinates, halo->shape.axes * sizeof *coordinates);
    memcpy(ranks, halo->shape.ranks, halo->shape.axes * sizeof *ranks);
}

int unibuf_mpi_may_call(char* text) { return (int)unibuf_mpi_usable(text, text_size); }

int unibuf_mpi_send_bytes(int comm, int to, int tag, const char* bytes, int64_t size, char* text) {
    return (int)unibuf_message_send(bytes, (size_t)size, to, tag, MPI_Comm_f2c((MPI_Fint)comm), text, text_size);
}

int unibuf_mpi_receive_bytes(int comm, int from, int tag, int64_t timeout_ns, char* bytes, int64_t size, char* text) {
    return (int)unibuf_message_receive(bytes, (size_t)size, from, tag, MPI_Comm_f2c((MPI_Fint)comm), timeout_ns, text,
                                       text_size);
}

int unibuf_mpi_broadcast_bytes(int comm, int root, int fault, char* bytes, int64_t size, char* text) {
    return (int)unibuf_message_broadcast(bytes, (size_t)size, root, MPI_Comm_f2c((MPI_Fint)comm), (unibuf_status)fault,
                                         text, text_size);
}
