// tests/c/bad_input.h: what the parts of bad_input share.
#pragma once

#include "check.h"

#define INVALID(part, call) CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, part, call)
#define OUTSIDE(part, call) CHECK_REFUSED(UNIBUF_OUT_OF_RANGE, part, call)

/// What a program has at the place for a buffer before the call; a refused call leaves it there.
#define no_buffer ((unibuf_buffer*)0x10)

enum { size = 1000, spaces = 10 };

extern const unibuf_space no_such_spaces[spaces];

// These make calls with nonsense on a buffer of `size` bytes, whose content stays as it is.
void bad_places(unibuf_buffer* buffer);
void bad_numbers(unibuf_buffer* buffer);
void bad_ranges(unibuf_buffer* buffer);
void nothing_asked(unibuf_buffer* buffer);  // by options that begin as {0}
void bad_collections(unibuf_buffer* buffer);
