// tests/c/sizes.h: what the parts of the test of sizes share.
#pragma once

#include "check.h"

/// A trial gives a function a size that nothing has, in the place of one parameter. A name is that of the function, a
/// blank and the parameter: what tests/c/every_size.cmake reads in the headers.
struct trial {
    const char* name;
    unibuf_status (*with)(size_t given);
    unibuf_status refused;  // how the function refuses
    bool rest_is_meant;     // SIZE_MAX is UNIBUF_REST here, and not refused
    bool is_of_memory;      // the caller's memory is that large, so that only what no memory has can be refused
};

extern const struct trial trials[];
extern const size_t trial_count;

enum { small = 1000 };

/// What the trials are about, at the space that they are run on.
struct stage {
    unibuf_space where;
    unibuf_buffer* buffer;  // of `small` bytes
    unibuf_pool* pool;
    unibuf_batch* batch;
};
extern struct stage on;
