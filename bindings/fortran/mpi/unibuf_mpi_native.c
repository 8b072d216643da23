// unibuf_mpi_native.c: what the module unibuf_mpi calls of MPI. It is compiled with the program's own MPI, as the
// module is.
//
// Communicators come as the integers that Fortran has for them; no array of Fortran is given to MPI.
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unibuf/detail/halo_messages.h>
#include <unibuf/detail/mpi_messages.h>

enum { text_size = 512 };

/// Where a halo is that a program has a handle of. It serves many of them, one after the other, and stays: a handle may
/// always look whether its halo is still there.
typedef struct halo_slot {
    unibuf_halo_messages messages;
    int64_t generation;  // odd while it has a halo
    struct halo_slot* next;
} halo_slot;

static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static halo_slot* free_slots;

/// Returns a slot without a halo, or NULL where there is no memory.
static halo_slot* take_slot(void) {
    pthread_mutex_lock(&slots_lock);
    halo_slot* const taken = free_slots;
    if (taken) free_slots = taken->next;
    pthread_mutex_unlock(&slots_lock);
    return taken ? taken : calloc(1, sizeof(halo_slot));
}

static void give_slot(halo_slot* slot) {
    pthread_mutex_lock(&slots_lock);
    slot->next = free_slots;
    free_slots = slot;
    pthread_mutex_unlock(&slots_lock);
}

/// Returns whether the halo of a handle is still there; where it is to end, this is the last time.
static int is_there(halo_slot* slot, int64_t generation, bool ends) {
    pthread_mutex_lock(&slots_lock);
    const bool is = slot && slot->generation == generation;
    if (is && ends) ++slot->generation;
    pthread_mutex_unlock(&slots_lock);
    return is;
}

static int refuse(const halo_slot* slot, int64_t generation, char* text) {
    snprintf(text, text_size, "a halo was used that %s",
             slot              ? "was destroyed"
             : generation == 0 ? "was not created"
                               : "could not be created");
    return UNIBUF_INVALID_ARGUMENT;
}

/// Returns whether an int cannot count the bytes of the first axis. Then each element is an axis of its own.
static bool lie_apart(const unibuf_halo_shape* shape) {
    size_t most = 1;
    for (size_t field = 0; field < shape->fields && field < UNIBUF_HALO_FIELDS; ++field) {
        if (most < shape->element_sizes[field]) most = shape->element_sizes[field];
    }
    return shape->extents[0] > INT_MAX / most;
}

/// Makes the messages of a halo, at all processes or at none. `text` says what is wrong already, and what failed.
int unibuf_mpi_open(int comm, int axes, const int64_t* extents, const int* ghosts, const int* periodic,
                    const int* ranks, int corners, int fields, const int64_t* element_sizes, int fault, char* text,
                    halo_slot** slot, int64_t* generation) {
    unibuf_halo_shape shape = {0};
    halo_slot none = {0};
    *slot = NULL;
    *generation = -1;
    unibuf_status status = unibuf_mpi_usable(none.messages.message, text_size);
    if (status != UNIBUF_OK) {
        memcpy(text, none.messages.message, text_size);
        return (int)status;
    }
    halo_slot* const taken = take_slot();
    unibuf_halo_messages* const halo = taken ? &taken->messages : &none.messages;
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
    if (fault == UNIBUF_OK && axes == UNIBUF_HALO_AXES && lie_apart(&shape)) {
        snprintf(halo->message, text_size, "the first of 8 axes has more bytes than can be counted");
        fault = UNIBUF_INVALID_ARGUMENT;
    }
    if (fault == UNIBUF_OK && !taken) {
        snprintf(halo->message, text_size, "memory for a halo was asked for");
        fault = UNIBUF_OUT_OF_MEMORY;  // the others are told
    }
    status = unibuf_messages_open(halo, MPI_Comm_f2c((MPI_Fint)comm), &shape, (unibuf_status)fault);
    memcpy(text, halo->message, text_size);
    if (status == UNIBUF_OK) {
        *slot = taken;
        *generation = ++taken->generation;
    } else if (taken) {
        give_slot(taken);
    }
    return (int)status;
}

/// Gives the messages of a halo that is there.
int unibuf_mpi_find(halo_slot* slot, int64_t generation, char* text, unibuf_halo_messages** found) {
    *found = NULL;
    if (!is_there(slot, generation, false)) return refuse(slot, generation, text);
    *found = &slot->messages;
    return UNIBUF_OK;
}

/// Ends a halo, and with it all copies of its handle.
int unibuf_mpi_close(halo_slot* slot, int64_t generation, char* text) {
    if (!is_there(slot, generation, true)) return refuse(slot, generation, text);
    unibuf_messages_close(&slot->messages);
    give_slot(slot);
    return UNIBUF_OK;
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
    const bool apart = lie_apart(shape);
    *field = (int)at[1] + 1;
    *axes = (int)shape->axes + apart;
    extents[0] = upper[0] = (int)element;
    lower[0] = 1;
    for (size_t axis = 0; axis < shape->axes; ++axis) {
        const size_t each = axis == 0 && !apart ? element : 1;  // along the first axis elements lie as bytes
        extents[axis + apart] = (int)(shape->extents[axis] * each);
        lower[axis + apart] = (int)(begin[axis] * each) + 1;
        upper[axis + apart] = (int)((begin[axis] + side->count[axis]) * each);
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
