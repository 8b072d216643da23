// tests/c/sizes_trials.c: a trial for each parameter of the API that is a size, an offset or a count.
#include <unibuf/cuda.h>
#include <unibuf/metal.h>
#include <unibuf/opencl.h>
#include <unibuf/opengl.h>

#include "sizes.h"

struct stage on;
static char few[8];
static const size_t four_gib = (size_t)1 << 32;

#define TRIAL(function, parameter) static unibuf_status function##_##parameter(size_t given)

/// Makes a copy of a buffer that was made with a size that nothing has. 4 GiB may be had: they are not touched.
static unibuf_status used(unibuf_status made, unibuf_buffer* huge, bool is_of_pool) {
    if (made != UNIBUF_OK) return made;
    unibuf_status first = UNIBUF_OK;
    char byte[1] = {1};
    if (unibuf_size(huge) > four_gib) {
        unibuf_lease lease;
        void* pointer = NULL;
        unibuf_native native;
        first = unibuf_acquire(huge, on.where, UNIBUF_WRITE, NULL, &lease);
        CHECK_STATUS(first, unibuf_acquire(huge, on.where, UNIBUF_READ, NULL, &lease));
        CHECK_STATUS(first, unibuf_acquire(huge, UNIBUF_HOST, UNIBUF_READ_WRITE, NULL, &lease));
        CHECK_STATUS(first, unibuf_host(huge, &pointer));
        CHECK_STATUS(first, unibuf_prefetch(huge, on.where, NULL));
        CHECK_STATUS(first, unibuf_fill(huge, byte, 1));
        CHECK_STATUS(first, unibuf_fill_at(huge, byte, 1, on.where));
        CHECK_STATUS(first, unibuf_copy_from(huge, byte, 1, 0));
        CHECK_STATUS(first, unibuf_copy_from_at(huge, byte, 1, 7, on.where));
        CHECK_STATUS(first, unibuf_copy_to(huge, byte, 1, unibuf_size(huge) - 1));
        (void)unibuf_device(huge, &native);  // of the default device, which may be the host
    }
    unibuf_buffer* view = NULL;
    CHECK_OK(unibuf_view(huge, unibuf_size(huge) - 1, 1, &view));
    unibuf_destroy(view);
    unibuf_buffer_state state = UNIBUF_MIXED;
    CHECK_OK(unibuf_state(huge, &state));
    CHECK(state == UNIBUF_UNINITIALIZED);
    if (is_of_pool) {
        CHECK_OK(unibuf_pool_release(on.pool, huge));
    } else {
        unibuf_destroy(huge);
    }
    return first == UNIBUF_OK ? UNIBUF_OUT_OF_MEMORY : first;  // 4 GiB were not asked for
}

TRIAL(create, bytes) {
    unibuf_buffer* huge = NULL;
    const unibuf_status made = unibuf_create(given, NULL, &huge);
    return used(made, huge, false);
}

TRIAL(pool_acquire, bytes) {
    unibuf_buffer* huge = NULL;
    const unibuf_status made = unibuf_pool_acquire(on.pool, given, NULL, &huge);
    return used(made, huge, true);
}

TRIAL(pool_reserve, bytes) {
    if (given == four_gib) given *= UINT32_MAX;  // 4 GiB may be had
    return unibuf_pool_reserve(on.pool, 3, given, on.where, NULL);
}

TRIAL(pool_reserve, count) {
    const unibuf_status of_large = unibuf_pool_reserve(on.pool, given, SIZE_MAX / 2, on.where, NULL);
    const unibuf_status of_wrapping = unibuf_pool_reserve(on.pool, given, four_gib, on.where, NULL);
    CHECK(of_large == of_wrapping);
    return of_large;
}

TRIAL(create_over, bytes) {
    unibuf_buffer* made = NULL;
    const unibuf_status status = unibuf_create_over(few, given, NULL, NULL, NULL, &made);
    unibuf_destroy(made);
    return status;
}

TRIAL(view, offset) {
    unibuf_buffer* made = NULL;
    CHECK_STATUS(UNIBUF_OUT_OF_RANGE, unibuf_view(on.buffer, given, 0 - given, &made));  // the sum is 0
    CHECK_STATUS(UNIBUF_OUT_OF_RANGE, unibuf_view(on.buffer, given, UNIBUF_REST, &made));
    return unibuf_view(on.buffer, given, 1, &made);
}

TRIAL(view, size) {
    unibuf_buffer* made = NULL;
    CHECK_STATUS(given == UNIBUF_REST ? UNIBUF_OK : UNIBUF_OUT_OF_RANGE, unibuf_view(on.buffer, 10, given, &made));
    unibuf_destroy(made);
    made = NULL;
    const unibuf_status status = unibuf_view(on.buffer, 0, given, &made);
    unibuf_destroy(made);
    return status;
}

/// Takes a rectangle of the buffer as an array of one or two axes.
static unibuf_status rectangle(size_t element, size_t rows, size_t columns, size_t begin, size_t end) {
    const size_t extents[] = {rows, columns};
    const size_t from[] = {begin, 0};
    const size_t to[] = {end, 1};
    unibuf_buffer* made = NULL;
    const unibuf_status status = unibuf_view_rect(on.buffer, element, 2, extents, from, to, &made);
    unibuf_destroy(made);
    return status;
}

TRIAL(view_rect, element_size) {
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, rectangle(given, 8, 1, 0, 1));
    return rectangle(given, 10, 100, 0, 1);
}
TRIAL(view_rect, axes) {
    const size_t one[] = {small};
    unibuf_buffer* made = NULL;
    return unibuf_view_rect(on.buffer, 1, given, one, one, one, &made);
}
TRIAL(view_rect, extents) {
    const unibuf_status too_many = rectangle(1, given, SIZE_MAX, 0, 1);
    CHECK(too_many == UNIBUF_OUT_OF_MEMORY || too_many == UNIBUF_INVALID_ARGUMENT);
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, rectangle(8, given, 1, 0, 1));
    return rectangle(1, given, 1, 0, 1);
}
TRIAL(view_rect, begin) {
    CHECK_STATUS(UNIBUF_OUT_OF_RANGE, rectangle(1, 10, 100, given, given + 1));
    return rectangle(1, 10, 100, given, 10);
}
TRIAL(view_rect, end) { return rectangle(1, 10, 100, 0, given); }

/// Calls `call` with options that have the size at the offset, and in the place of the size.
static unibuf_status with_options(size_t given, unibuf_status (*call)(const unibuf_access_options* options)) {
    unibuf_access_options options = {given, 1, UNIBUF_FOREVER, NULL};
    CHECK_STATUS(UNIBUF_OUT_OF_RANGE, call(&options));
    options.size = 0 - given;
    CHECK_STATUS(UNIBUF_OUT_OF_RANGE, call(&options));
    options = (unibuf_access_options){10, given, UNIBUF_FOREVER, NULL};
    return call(&options);
}

static unibuf_status acquire_with(const unibuf_access_options* options) {
    unibuf_lease lease;
    const unibuf_status status = unibuf_acquire(on.buffer, on.where, UNIBUF_READ, options, &lease);
    unibuf_release(&lease);
    return status;
}
static unibuf_status acquire_together_with(const unibuf_access_options* options) {
    unibuf_lease leases[2];
    const unibuf_wanted_lease wanted[] = {{on.buffer, on.where, UNIBUF_READ, NULL},
                                          {on.buffer, on.where, UNIBUF_READ, options}};
    const unibuf_status status = unibuf_acquire_together(wanted, 2, leases);
    CHECK(status == UNIBUF_OK || (!leases[0].reserved[0] && !leases[1].reserved[0]));
    for (int i = 0; i < 2; ++i) unibuf_release(&leases[i]);
    return status;
}
static unibuf_status prefetch_with(const unibuf_access_options* options) {
    return unibuf_prefetch(on.buffer, on.where, options);
}
static unibuf_status mark_dirty_with(const unibuf_access_options* options) {
    return unibuf_mark_dirty(on.buffer, on.where, options);
}
static unibuf_status capture_with(const unibuf_access_options* options) {
    unibuf_held* held = NULL;
    const unibuf_status status = unibuf_capture_upload(on.buffer, on.where, options, &held);
    unibuf_let_go(held);
    return status;
}
static unibuf_status bind_with(const unibuf_access_options* options) {
    unibuf_standing_options bound = UNIBUF_STANDING_INIT;
    bound.offset = options->offset;
    bound.size = options->size;
    unibuf_standing_hold* hold = NULL;
    const unibuf_status status = unibuf_bind(on.buffer, on.where, UNIBUF_READ, &bound, &hold);
    unibuf_standing_hold_release(hold);
    return status;
}
TRIAL(acquire, options) { return with_options(given, acquire_with); }
TRIAL(acquire_together, wanted) { return with_options(given, acquire_together_with); }
TRIAL(prefetch, options) { return with_options(given, prefetch_with); }
TRIAL(mark_dirty, options) { return with_options(given, mark_dirty_with); }
TRIAL(capture_upload, options) {
    const unibuf_status status = with_options(given, capture_with);
    return given == UNIBUF_REST ? UNIBUF_OK : status;  // no stream is being captured
}
TRIAL(bind, options) {
    const unibuf_status status = with_options(given, bind_with);
    return given == UNIBUF_REST ? UNIBUF_OK : status;  // the host is bound to nothing
}

TRIAL(acquire_together, count) {
    unibuf_lease lease;
    const unibuf_wanted_lease wanted = {on.buffer, on.where, UNIBUF_READ, NULL};
    if (given <= four_gib) return UNIBUF_OK;  // the program says that it has so many
    return unibuf_acquire_together(&wanted, given, &lease);
}

TRIAL(hold, offset) {
    unibuf_held* held = NULL;
    CHECK_STATUS(UNIBUF_OUT_OF_RANGE, unibuf_hold(on.buffer, on.where, given, 0 - given, &held));
    return unibuf_hold(on.buffer, on.where, given, 1, &held);
}
TRIAL(hold, size) {
    unibuf_held* held = NULL;
    const unibuf_status status = unibuf_hold(on.buffer, on.where, 10, given, &held);
    unibuf_let_go(held);
    return status;
}
TRIAL(hold_for_io, offset) {
    unibuf_held* held = NULL;
    CHECK_STATUS(UNIBUF_OUT_OF_RANGE, unibuf_hold_for_io(on.buffer, UNIBUF_WRITE, given, 0 - given, &held));
    return unibuf_hold_for_io(on.buffer, UNIBUF_WRITE, given, 1, &held);
}
TRIAL(hold_for_io, size) {
    unibuf_held* held = NULL;
    const unibuf_status status = unibuf_hold_for_io(on.buffer, UNIBUF_WRITE, 10, given, &held);
    unibuf_let_go(held);
    return status;
}

// Functions of a buffer, an offset and a size.
#define RANGE(function)                                                                    \
    TRIAL(function, offset) {                                                              \
        CHECK_STATUS(UNIBUF_OUT_OF_RANGE, unibuf_##function(on.buffer, given, 0 - given)); \
        return unibuf_##function(on.buffer, given, 1);                                     \
    }                                                                                      \
    TRIAL(function, size) { return unibuf_##function(on.buffer, 10, given); }
RANGE(sync_to_host)
RANGE(sync_to_device)
RANGE(mark_host_dirty)
RANGE(mark_device_dirty)

TRIAL(fill, pattern_size) { return unibuf_fill(on.buffer, few, given); }
TRIAL(fill_at, pattern_size) { return unibuf_fill_at(on.buffer, few, given, on.where); }

/// The caller's bytes for all of the buffer, as they are in it.
static char* all_bytes(void) {
    static char bytes[small];
    CHECK_OK(unibuf_copy_to(on.buffer, bytes, small, 0));
    return bytes;
}
TRIAL(copy_from, size) { return unibuf_copy_from(on.buffer, all_bytes(), given, 0); }
TRIAL(copy_from, offset) {
    CHECK_STATUS(UNIBUF_OUT_OF_RANGE, unibuf_copy_from(on.buffer, few, 0 - given, given));
    return unibuf_copy_from(on.buffer, few, 1, given);
}
TRIAL(copy_to, size) { return unibuf_copy_to(on.buffer, all_bytes(), given, 0); }
TRIAL(copy_to, offset) {
    CHECK_STATUS(UNIBUF_OUT_OF_RANGE, unibuf_copy_to(on.buffer, few, 0 - given, given));
    return unibuf_copy_to(on.buffer, few, 1, given);
}
TRIAL(copy_from_at, size) { return unibuf_copy_from_at(on.buffer, all_bytes(), given, 0, on.where); }
TRIAL(copy_from_at, offset) {
    CHECK_STATUS(UNIBUF_OUT_OF_RANGE, unibuf_copy_from_at(on.buffer, few, 0 - given, given, on.where));
    return unibuf_copy_from_at(on.buffer, few, 1, given, on.where);
}
TRIAL(copy_to_at, size) { return unibuf_copy_to_at(on.buffer, all_bytes(), given, 0, on.where); }
TRIAL(copy_to_at, offset) {
    CHECK_STATUS(UNIBUF_OUT_OF_RANGE, unibuf_copy_to_at(on.buffer, few, 0 - given, given, on.where));
    return unibuf_copy_to_at(on.buffer, few, 1, given, on.where);
}
TRIAL(batch_write, size) { return unibuf_batch_write(on.batch, on.buffer, all_bytes(), given, 0); }
TRIAL(batch_write, offset) {
    CHECK_STATUS(UNIBUF_OUT_OF_RANGE, unibuf_batch_write(on.batch, on.buffer, few, 0 - given, given));
    return unibuf_batch_write(on.batch, on.buffer, few, 1, given);
}

TRIAL(devices_get, index) {
    unibuf_devices* devices = NULL;
    unibuf_device_info info;
    CHECK_OK(unibuf_devices_list(&devices));
    const unibuf_status status = unibuf_devices_get(devices, given, &info);
    unibuf_devices_destroy(devices);
    return status;
}

// A handle to a byte that no memory has.
#define NATIVE(function, parameter, type)                                       \
    TRIAL(function, parameter) {                                                \
        type result;                                                            \
        const unibuf_native native = {on.where, (uintptr_t)few, given, 1};      \
        const unibuf_status status = unibuf_##function(&native, &result);       \
        return status == UNIBUF_UNSUPPORTED ? UNIBUF_INVALID_ARGUMENT : status; \
    }
NATIVE(native_address, native, void*)
NATIVE(cuda_pointer, copy, unsigned long long)
NATIVE(metal_buffer, copy, void*)
NATIVE(opencl_memory, copy, struct _cl_mem*)
NATIVE(opengl_name, copy, uint32_t)

TRIAL(cuda_use_streams, count) {
    struct CUstream_st* const streams[1] = {NULL};
    if (given <= four_gib) return UNIBUF_OK;
    return unibuf_cuda_use_streams(on.where, streams, given);
}

// What is no size of memory takes any number.
TRIAL(transfers_of, capacity) {
    static unibuf_transfer_count counts[200];
    size_t count = 0;
    CHECK_OK(unibuf_transfers_of(on.buffer, counts, given, &count));
    return UNIBUF_OK;
}
TRIAL(keep_events, each_thread) {
    unibuf_keep_events(given);
    CHECK_OK(unibuf_copy_to(on.buffer, few, 1, 0));
    unibuf_keep_events(1024);
    return UNIBUF_OK;
}
TRIAL(limit_memory, bytes) {
    CHECK_OK(unibuf_limit_memory(on.where, given));
    CHECK_OK(unibuf_copy_to_at(on.buffer, few, 1, 0, on.where));
    return unibuf_limit_memory(on.where, UNIBUF_NO_LIMIT);
}
TRIAL(pool_trim, bytes) { return unibuf_pool_trim(on.pool, given); }
TRIAL(pool_limit, bytes) { return unibuf_pool_limit(on.pool, given); }
TRIAL(budget_begin, bytes) {
    unibuf_budget* budget = NULL;
    CHECK_OK(unibuf_budget_begin(given, UNIBUF_NO_SPACE, UNIBUF_NO_SPACE, &budget));
    unibuf_budget_end(budget);
    return UNIBUF_OK;
}
TRIAL(cuda_limit_pinned_memory, bytes) {
    uint64_t before = 0;
    unibuf_cuda_pinned_memory(NULL, &before);
    unibuf_cuda_limit_pinned_memory(given);
    unibuf_cuda_limit_pinned_memory(before);
    return UNIBUF_OK;
}

#define IS(function, parameter, ...) {"unibuf_" #function " " #parameter, function##_##parameter, __VA_ARGS__}
#define REFUSED(function, parameter, how) IS(function, parameter, UNIBUF_##how, false, false)
#define REST(function, parameter) IS(function, parameter, UNIBUF_OUT_OF_RANGE, true, false)
#define OF_MEMORY(function, parameter) IS(function, parameter, UNIBUF_INVALID_ARGUMENT, false, true)
#define ANY(function, parameter) IS(function, parameter, UNIBUF_OK, false, false)

const struct trial trials[] = {
    REFUSED(create, bytes, OUT_OF_MEMORY),
    REFUSED(pool_acquire, bytes, OUT_OF_MEMORY),
    REFUSED(pool_reserve, bytes, OUT_OF_MEMORY),
    REFUSED(pool_reserve, count, OUT_OF_MEMORY),
    OF_MEMORY(create_over, bytes),
    REFUSED(view, offset, OUT_OF_RANGE),
    REST(view, size),
    REFUSED(view_rect, element_size, INVALID_ARGUMENT),
    REFUSED(view_rect, axes, INVALID_ARGUMENT),
    REFUSED(view_rect, extents, INVALID_ARGUMENT),
    REFUSED(view_rect, begin, OUT_OF_RANGE),
    REST(view_rect, end),
    REST(acquire, options),
    REST(acquire_together, wanted),
    OF_MEMORY(acquire_together, count),
    REST(prefetch, options),
    REST(mark_dirty, options),
    REST(capture_upload, options),
    REST(bind, options),
    REFUSED(hold, offset, OUT_OF_RANGE),
    REST(hold, size),
    REFUSED(hold_for_io, offset, OUT_OF_RANGE),
    REST(hold_for_io, size),
    REFUSED(sync_to_host, offset, OUT_OF_RANGE),
    REST(sync_to_host, size),
    REFUSED(sync_to_device, offset, OUT_OF_RANGE),
    REST(sync_to_device, size),
    REFUSED(mark_host_dirty, offset, OUT_OF_RANGE),
    REST(mark_host_dirty, size),
    REFUSED(mark_device_dirty, offset, OUT_OF_RANGE),
    REST(mark_device_dirty, size),
    REFUSED(fill, pattern_size, INVALID_ARGUMENT),
    REFUSED(fill_at, pattern_size, INVALID_ARGUMENT),
    REST(copy_from, size),
    REFUSED(copy_from, offset, OUT_OF_RANGE),
    REST(copy_to, size),
    REFUSED(copy_to, offset, OUT_OF_RANGE),
    REST(copy_from_at, size),
    REFUSED(copy_from_at, offset, OUT_OF_RANGE),
    REST(copy_to_at, size),
    REFUSED(copy_to_at, offset, OUT_OF_RANGE),
    REST(batch_write, size),
    REFUSED(batch_write, offset, OUT_OF_RANGE),
    REFUSED(devices_get, index, OUT_OF_RANGE),
    OF_MEMORY(native_address, native),
    OF_MEMORY(cuda_pointer, copy),
    OF_MEMORY(metal_buffer, copy),
    OF_MEMORY(opencl_memory, copy),
    OF_MEMORY(opengl_name, copy),
    OF_MEMORY(cuda_use_streams, count),
    ANY(transfers_of, capacity),
    ANY(keep_events, each_thread),
    ANY(limit_memory, bytes),
    ANY(pool_trim, bytes),
    ANY(pool_limit, bytes),
    ANY(budget_begin, bytes),
    ANY(cuda_limit_pinned_memory, bytes),
};
const size_t trial_count = sizeof trials / sizeof trials[0];
