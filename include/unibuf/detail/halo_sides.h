// unibuf/detail/halo_sides.h: which boxes of a grid a halo exchanges, and with whom. Pure; for C, C++ and Fortran
// alike.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "unibuf/unibuf.h"

#define UNIBUF_HALO_AXES 8
#define UNIBUF_HALO_CUTS 3     // axes that are cut among processes
#define UNIBUF_HALO_SIDES 26   // neighbours of a process, where three axes are cut and corners count
#define UNIBUF_HALO_FIELDS 64  // buffers whose boxes travel in one message

/// The part of a grid that one process has, and how the grid is cut. It is the same for all fields.
typedef struct unibuf_halo_shape {
    int fortran;  // elements lie along the first axis, which is 1; else along the last one, and the first is 0
    size_t axes;
    size_t extents[UNIBUF_HALO_AXES];  // elements along each axis, ghosts at both ends among them
    size_t ghosts[UNIBUF_HALO_AXES];   // how many ghosts are at either end; 0 along an axis that is not cut
    int periodic[UNIBUF_HALO_AXES];    // whether the last process along the axis is a neighbour of the first
    int ranks[UNIBUF_HALO_AXES];       // how many processes along the axis; 0 lets MPI choose
    int corners;                       // whether ghosts at edges and corners are exchanged too
    size_t fields;
    size_t element_sizes[UNIBUF_HALO_FIELDS];  // in bytes, of each field
} unibuf_halo_shape;

/// What goes to one neighbour, and comes from it: a box of each field, one field after the other.
typedef struct unibuf_halo_side {
    int rank;
    int place;                        // number of the direction, from 0 to 26: also the tag of what goes there
    int opposite;                     // number of the direction that leads back: the tag of what comes
    int direction[UNIBUF_HALO_AXES];  // -1, 0 or 1 along each axis
    size_t out[UNIBUF_HALO_AXES];     // where the box begins that goes
    size_t in[UNIBUF_HALO_AXES];      // where the box of ghosts begins
    size_t count[UNIBUF_HALO_AXES];   // the extents of both
    size_t elements;
    size_t bytes;  // of all fields
    char* outgoing;
    char* incoming;
} unibuf_halo_side;

/// Returns the number that the program has for an axis.
static inline size_t unibuf_halo_axis(const unibuf_halo_shape* shape, size_t axis) {
    return axis + (shape->fortran != 0);
}

/// Writes how many bytes a field has. False where a size_t cannot count them.
static inline bool unibuf_halo_field_bytes(const unibuf_halo_shape* shape, size_t element_size, size_t* bytes) {
    *bytes = element_size;
    for (size_t axis = 0; axis < shape->axes && axis < UNIBUF_HALO_AXES; ++axis) {
        if (shape->extents[axis] > 0 && *bytes > SIZE_MAX / shape->extents[axis]) return false;
        *bytes *= shape->extents[axis];
    }
    return true;
}

/// Returns whether a halo can be of this shape; else says why not.
static inline unibuf_status unibuf_halo_check(const unibuf_halo_shape* shape, char* text, size_t room) {
    size_t cuts = 0;
    text[0] = 0;
    if (shape->axes < 1 || shape->axes > UNIBUF_HALO_AXES) {
        snprintf(text, room, "a halo has from 1 to 8 axes; %zu were given", shape->axes);
    } else if (shape->fields < 1 || shape->fields > UNIBUF_HALO_FIELDS) {
        snprintf(text, room, "a halo is of 1 to 64 fields; %zu were given", shape->fields);
    }
    for (size_t axis = 0; !text[0] && axis < shape->axes; ++axis) {
        const size_t ghosts = shape->ghosts[axis];
        cuts += ghosts > 0;
        if (ghosts > 0 && (shape->extents[axis] < 3 || shape->extents[axis] / 3 < ghosts)) {
            snprintf(text, room,
                     "axis %zu has %zu elements: with %zu ghosts at either end it needs at least three times as many",
                     unibuf_halo_axis(shape, axis), shape->extents[axis], ghosts);
        } else if (shape->ranks[axis] < 0 || (ghosts == 0 && shape->ranks[axis] > 1)) {
            snprintf(text, room, "axis %zu is to be cut among %d processes, with %zu ghosts",
                     unibuf_halo_axis(shape, axis), shape->ranks[axis], ghosts);
        }
    }
    if (!text[0] && (cuts < 1 || cuts > UNIBUF_HALO_CUTS)) {
        snprintf(text, room, "a halo has ghosts along 1 to 3 axes; here they are along %zu", cuts);
    }
    for (size_t field = 0; !text[0] && field < shape->fields; ++field) {
        size_t bytes = 0;
        if (shape->element_sizes[field] == 0) {
            snprintf(text, room, "field %zu has elements of 0 bytes", field);
        } else if (!unibuf_halo_field_bytes(shape, shape->element_sizes[field], &bytes)) {
            snprintf(text, room, "field %zu would have more bytes than can be counted: its extents are too large",
                     field);
        }
    }
    return text[0] ? UNIBUF_INVALID_ARGUMENT : UNIBUF_OK;
}

static inline size_t unibuf_halo_element_bytes(const unibuf_halo_shape* shape) {
    size_t bytes = 0;
    for (size_t field = 0; field < shape->fields; ++field) bytes += shape->element_sizes[field];
    return bytes;
}

/// Makes the side of the direction with that number, but for its neighbour. Returns whether it is one: the middle is
/// none, and corners are none unless they are asked for.
static inline bool unibuf_halo_side_at(const unibuf_halo_shape* shape, int place, unibuf_halo_side* side) {
    int rest = place;
    int across = 0;  // along how many axes the direction leads
    int directions = 1;
    memset(side, 0, sizeof *side);
    side->elements = 1;
    for (size_t reversed = 0; reversed < shape->axes; ++reversed) {
        const size_t axis = shape->axes - 1 - reversed;
        const size_t ghosts = shape->ghosts[axis];
        const size_t extent = shape->extents[axis];
        int direction = 0;
        if (ghosts > 0) {
            direction = rest % 3 - 1;
            rest /= 3;
            directions *= 3;
        }
        across += direction != 0;
        side->direction[axis] = direction;
        side->count[axis] = direction == 0 ? extent - 2 * ghosts : ghosts;
        side->out[axis] = direction > 0 ? extent - 2 * ghosts : ghosts;
        side->in[axis] = direction == 0 ? ghosts : direction < 0 ? 0 : extent - ghosts;
        side->elements *= side->count[axis];
    }
    side->place = place;
    side->opposite = directions - 1 - place;
    side->bytes = side->elements * unibuf_halo_element_bytes(shape);
    return rest == 0 && (across == 1 || (across > 1 && shape->corners));
}
