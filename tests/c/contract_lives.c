// tests/c/contract_lives.c: what has an end of its own: memory of the caller's, held copies, pools, batches, fences,
// names.
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "contract.h"

static void count(void* context) { ++*(int*)context; }

void contract_of_callers_memory(unibuf_space where) {
    unsigned char* const memory = aligned_alloc(4096, 102400);
    CHECK(memory != NULL);
    for (size_t i = 0; i < some_bytes; ++i) memory[i] = noise_at(i, 1);
    int freed = 0;
    unibuf_options options = UNIBUF_OPTIONS_INIT;
    options.device = where;
    unibuf_buffer* buffer = NULL;
    CHECK_OK(unibuf_create_over(memory, some_bytes, count, &freed, &options, &buffer));
    void* host = NULL;
    CHECK_OK(unibuf_host(buffer, &host));
    CHECK(host == memory);
    touch(buffer, where, UNIBUF_READ, 0, UNIBUF_REST);
    CHECK_OK(unibuf_mark_dirty(buffer, where, NULL));
    CHECK(host_reads_noise(buffer, 1));
    memory[4] = 200;
    CHECK_OK(unibuf_mark_host_dirty(buffer, 4, 1));
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(buffer, where, UNIBUF_READ, NULL, &lease));
    unibuf_destroy(buffer);
    CHECK(freed == 0);  // the lease keeps it
    unibuf_release(&lease);
    CHECK(freed == 1);

    options.access = UNIBUF_HOST_CONSTANT;
    for (size_t i = 0; i < some_bytes; ++i) memory[i] = noise_at(i, 1);
    CHECK_OK(unibuf_create_over(memory, some_bytes, NULL, NULL, &options, &buffer));
    touch(buffer, where, UNIBUF_READ, 0, UNIBUF_REST);
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_acquire(buffer, where, UNIBUF_READ_WRITE, NULL, &lease));
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_fill(buffer, "x", 1));
    unibuf_held* held = NULL;
    CHECK_OK(unibuf_hold(buffer, UNIBUF_HOST, 0, UNIBUF_REST, &held));  // for reading
    CHECK(unibuf_held_data(held) == memory);
    unibuf_let_go(held);
    CHECK(host_reads_noise(buffer, 1));
    unibuf_destroy(buffer);
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_create(some_bytes, &options, &buffer));
    options.access = UNIBUF_HOST_READ_WRITE;

    freed = 0;
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_create_over(NULL, 10, count, &freed, NULL, &buffer));
    options.hint = (unibuf_memory_hint)50;
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_create_over(memory, 10, count, &freed, &options, &buffer));
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_create_over(memory, 10, count, &freed, NULL, NULL));
    CHECK(freed == 0);  // these buffers were never made
    CHECK_OK(unibuf_create_over(memory, 10, NULL, NULL, NULL, &buffer));
    unibuf_destroy(buffer);
    free(memory);
}

static void contract_of_io(unibuf_space where) {
    unibuf_buffer* const buffer = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    host_writes(buffer, 1);
    touch(buffer, where, UNIBUF_READ, 0, UNIBUF_REST);
    unibuf_held* held = NULL;
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_hold_for_io(buffer, UNIBUF_READ, 0, UNIBUF_REST, &held));
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_hold_for_io(buffer, UNIBUF_WRITE, 0, UNIBUF_REST, NULL));
    CHECK_OK(unibuf_hold_for_io(buffer, UNIBUF_WRITE, 100, 50, &held));
    unsigned char* const data = unibuf_held_data(held);
    for (size_t i = 0; i < 50; ++i) data[i] = noise_at(100 + i, 1);
    unibuf_lease lease = UNIBUF_LEASE_INIT;
    if (where != UNIBUF_HOST) {
        CHECK_STATUS(UNIBUF_ACCESS_CONFLICT, unibuf_acquire(buffer, where, UNIBUF_READ_WRITE, NULL, &lease));
    }
    unibuf_let_go(held);
    touch(buffer, where, UNIBUF_READ_WRITE, 0, UNIBUF_REST);
    CHECK(host_reads_noise(buffer, 1));
    unibuf_destroy(buffer);
}

void contract_of_held_copies(unibuf_space where) {
    const bool device = where != UNIBUF_HOST;
    contract_of_io(where);
    unibuf_buffer* const buffer = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    host_writes(buffer, 1);
    unibuf_held* held = NULL;
    CHECK_OK(unibuf_hold(buffer, where, 1000, 50, &held));
    unibuf_native native;
    CHECK_OK(unibuf_held_native(held, &native));
    CHECK(native.where == where && native.size == 50);
    CHECK(native.offset == 1000 || !device);
    const void* const data = unibuf_held_data(held);
    if (data) CHECK(is_noise(data, 1000, 50, 1));
    if (!device) CHECK((const char*)native.handle + native.offset == data);
    touch(buffer, where, UNIBUF_READ_WRITE, 0, UNIBUF_REST);  // a held copy excludes nobody
    CHECK_OK(unibuf_sync_to_host(buffer, 0, UNIBUF_REST));
    if (device) CHECK_STATUS(UNIBUF_ACCESS_CONFLICT, unibuf_discard(buffer, where));
    unibuf_let_go(held);
    if (device) CHECK_OK(unibuf_discard(buffer, where));

    // A copy that is held at the host may be written through, and what was written is found.
    CHECK_OK(unibuf_sync_to_device(buffer, 0, UNIBUF_REST));
    CHECK_OK(unibuf_hold(buffer, UNIBUF_HOST, 0, UNIBUF_REST, &held));
    CHECK_OK(unibuf_held_native(held, &native));
    CHECK(native.where == UNIBUF_HOST && native.size == some_bytes);
    unsigned char* const bytes = unibuf_held_data(held);
    CHECK(native.handle == (uintptr_t)bytes);
    for (size_t i = 0; i < some_bytes; ++i) bytes[i] = noise_at(i, 2);
    CHECK(state_of(buffer) == UNIBUF_HOST_DIRTY);
    CHECK_OK(unibuf_sync_to_device(buffer, 0, UNIBUF_REST));
    unibuf_let_go(held);
    CHECK(device_has_noise(buffer, where, 2));

    // A held copy keeps the memory where the buffer is gone.
    CHECK_OK(unibuf_hold(buffer, UNIBUF_HOST, 10, UNIBUF_REST, &held));
    unibuf_destroy(buffer);
    CHECK(is_noise(unibuf_held_data(held), 10, some_bytes - 10, 2));
    unibuf_let_go(held);
}

/// Who holds a copy, and how often it was asked and told that it is asked no more.
struct keeper {
    unibuf_held* held;
    bool refuses;
    int asked;
    int ended;
};

static void be_asked(void* context) {
    struct keeper* const here = context;
    ++here->asked;
    if (here->refuses) return;
    unibuf_held* const held = here->held;
    here->held = NULL;
    unibuf_let_go(held);
}

static void be_told(void* context) { ++((struct keeper*)context)->ended; }

void contract_of_holders(unibuf_space where) {
    if (where == UNIBUF_HOST) return;
    unibuf_buffer* const buffer = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    host_writes(buffer, 1);
    touch(buffer, where, UNIBUF_READ, 0, UNIBUF_REST);
    struct keeper first = {.refuses = true};
    struct keeper second = {.refuses = false};
    CHECK_OK(unibuf_hold(buffer, where, 0, 100, &first.held));
    const unibuf_holder none = {NULL, be_told, &first};
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "lets go", unibuf_held_by(first.held, &none));
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "holder", unibuf_held_by(first.held, NULL));
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "held", unibuf_held_by(NULL, &none));
    CHECK(first.ended == 0);

    const unibuf_holder refusing = {be_asked, be_told, &first};
    CHECK_OK(unibuf_held_by(first.held, &refusing));
    CHECK_STATUS(UNIBUF_ACCESS_CONFLICT, unibuf_discard(buffer, where));
    CHECK(first.asked == 1 && first.ended == 0);

    second.held = first.held;
    const unibuf_holder willing = {be_asked, be_told, &second};
    CHECK_OK(unibuf_held_by(second.held, &willing));
    CHECK(first.ended == 1);
    CHECK_OK(unibuf_discard(buffer, where));
    CHECK(first.asked == 1 && second.asked == 1 && second.ended == 1 && second.held == NULL);

    // A copy at the host is let go before an access at the device would have to look for what was written.
    if (!is_shared(buffer, UNIBUF_HOST)) {
        CHECK_OK(unibuf_hold(buffer, UNIBUF_HOST, 0, UNIBUF_REST, &second.held));
        CHECK_OK(unibuf_held_by(second.held, &willing));
        ((unsigned char*)unibuf_held_data(second.held))[5] = 77;
        touch(buffer, where, UNIBUF_READ_WRITE, 5, 1);
        CHECK(second.asked == 2 && second.ended == 2 && second.held == NULL);
        unsigned char got = 0;
        CHECK_OK(unibuf_copy_to(buffer, &got, 1, 5));
        CHECK(got == 77);
    }

    CHECK_OK(unibuf_hold(buffer, where, 0, 100, &second.held));
    const unibuf_holder silent = {be_asked, NULL, &second};
    CHECK_OK(unibuf_held_by(second.held, &silent));
    unibuf_destroy(buffer);
    unibuf_let_go(second.held);
    CHECK(second.ended == 2);
}

void contract_of_pools(unibuf_space where) {
    unibuf_options options = UNIBUF_OPTIONS_INIT;
    options.device = where;
    options.hint = UNIBUF_HINT_GPU_PREFERRED;
    unibuf_pool* pool = NULL;
    CHECK_OK(unibuf_pool_create(&pool));
    unibuf_buffer* buffer = NULL;
    CHECK_OK(unibuf_pool_acquire(pool, 5000, &options, &buffer));
    CHECK(unibuf_size(buffer) == 5000);
    host_writes(buffer, 1);
    const uint64_t id = unibuf_id(buffer);

    // A buffer that is leased, and a view of it, are refused by the pool, and stay the caller's.
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(buffer, where, UNIBUF_READ, NULL, &lease));
    CHECK_STATUS(UNIBUF_ACCESS_CONFLICT, unibuf_pool_release(pool, buffer));
    unibuf_release(&lease);
    unibuf_buffer* view = NULL;
    CHECK_OK(unibuf_view(buffer, 0, 10, &view));
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "view", unibuf_pool_release(pool, view));
    unibuf_destroy(view);
    unibuf_buffer* const foreign = made(5000, where, UNIBUF_HINT_NONE);
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_pool_release(pool, foreign));
    unibuf_destroy(foreign);
    CHECK(host_reads_noise(buffer, 1));
    CHECK_OK(unibuf_pool_release(pool, buffer));
    CHECK_OK(unibuf_pool_release(pool, NULL));

    CHECK_OK(unibuf_pool_acquire(pool, 5000, &options, &buffer));
    unibuf_pool_statistics statistics;
    CHECK_OK(unibuf_pool_statistics_of(pool, &statistics));
    CHECK(statistics.hits == 1 && statistics.misses == 1 && statistics.held == 0);
    CHECK(unibuf_id(buffer) != id || host_reads(buffer, 0));
    CHECK(host_reads(buffer, 0));
    CHECK_OK(unibuf_pool_release(pool, buffer));

    CHECK_OK(unibuf_pool_reserve(pool, 3, 9000, where, &options));
    CHECK_OK(unibuf_pool_statistics_of(pool, &statistics));
    CHECK(statistics.held == 4 && statistics.held_bytes >= 3 * 9000 + 5000);
    CHECK(statistics.peak_bytes >= statistics.held_bytes);
    unibuf_memory memory;
    CHECK_OK(unibuf_memory_of(where, &memory));
    CHECK(memory.pooled >= 3 * 9000);
    CHECK_OK(unibuf_pool_limit(pool, 20000));
    CHECK_OK(unibuf_pool_statistics_of(pool, &statistics));
    CHECK(statistics.held == 2 || statistics.held_bytes <= 20000);
    CHECK_OK(unibuf_pool_trim(pool, 0));
    CHECK_OK(unibuf_pool_statistics_of(pool, &statistics));
    CHECK(statistics.held == 0 && statistics.held_bytes == 0);

    // A buffer that is in use goes on where its pool has gone.
    CHECK_OK(unibuf_pool_acquire(pool, 100, NULL, &buffer));
    unibuf_pool_destroy(pool);
    host_writes(buffer, 3);
    CHECK(host_reads_noise(buffer, 3));
    unibuf_destroy(buffer);

    CHECK(unibuf_pool_shared() != NULL && unibuf_pool_shared() == unibuf_pool_shared());
    unibuf_pool_destroy(unibuf_pool_shared());  // leaves the shared pool alone
    CHECK_OK(unibuf_pool_acquire(unibuf_pool_shared(), 100, NULL, &buffer));
    CHECK_OK(unibuf_pool_release(unibuf_pool_shared(), buffer));
    CHECK_OK(unibuf_pool_statistics_of(unibuf_pool_shared(), &statistics));
    CHECK(statistics.held == 1);
    CHECK_OK(unibuf_pool_trim(unibuf_pool_shared(), 0));
}

void contract_of_batches(unibuf_space where) {
    enum { buffers = 40, each_bytes = 600 };
    unibuf_buffer* all[buffers];
    for (int i = 0; i < buffers; ++i) {
        all[i] = made(each_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
        host_writes(all[i], 1);
        touch(all[i], where, UNIBUF_READ, 0, UNIBUF_REST);
    }
    unibuf_batch* batch = NULL;
    CHECK_OK(unibuf_batch_create(where, &batch));
    unsigned char tail[100];
    for (size_t i = 0; i < sizeof tail; ++i) tail[i] = noise_at(500 + i, 2);
    for (int i = 0; i < buffers; ++i) CHECK_OK(unibuf_batch_write(batch, all[i], tail, sizeof tail, 500));
    CHECK_REFUSED(UNIBUF_OUT_OF_RANGE, "600", unibuf_batch_write(batch, all[0], tail, sizeof tail, 501));
    CHECK_OK(unibuf_batch_submit(batch));
    CHECK(state_of(all[7]) == (where == UNIBUF_HOST ? state_of(all[8]) : UNIBUF_SYNCHRONIZED));
    for (int i = 0; i < buffers; ++i) {
        const uint64_t moved = bytes_moved(all[i]);
        CHECK(moved == (where == UNIBUF_HOST ? 0 : each_bytes + sizeof tail));
        CHECK_OK(unibuf_mark_dirty(all[i], where, NULL));  // what arrived stands, so it can be read back
        unsigned char got[each_bytes];
        CHECK_OK(unibuf_copy_to(all[i], got, each_bytes, 0));
        CHECK(is_noise(got, 0, 500, 1) && is_noise(got + 500, 500, 100, 2));
    }

    // The end of a batch submits what is left.
    CHECK_OK(unibuf_copy_from(all[0], "x", 1, 0));
    CHECK_OK(unibuf_batch_sync(batch, all[0]));
    unibuf_batch_destroy(batch);
    if (where != UNIBUF_HOST) CHECK(state_of(all[0]) == UNIBUF_SYNCHRONIZED);
    for (int i = 0; i < buffers; ++i) unibuf_destroy(all[i]);

    unibuf_buffer* const fresh = made(8, where, UNIBUF_HINT_NONE);
    CHECK_OK(unibuf_batch_create(where, &batch));
    CHECK_STATUS(UNIBUF_NOT_ALLOCATED, unibuf_batch_sync(batch, fresh));
    unibuf_batch_destroy(batch);
    unibuf_destroy(fresh);
}

void contract_of_fences(unibuf_space where) {
    unibuf_buffer* const buffer = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    device_fills(buffer, where, 4);
    unibuf_fence* fence = NULL;
    CHECK_OK(unibuf_record_fence(where, NULL, &fence));
    CHECK_OK(unibuf_fence_wait(fence, UNIBUF_FOREVER));
    CHECK_OK(unibuf_fence_wait(fence, 0));  // work that is done stays done
    unibuf_destroy(buffer);
    CHECK_OK(unibuf_fence_wait(fence, 0));
    unibuf_fence_destroy(fence);
}

/// Work of the program's own, which is as far as it says.
struct job {
    unibuf_status status;
    int waits;
    int ended;
};

static unibuf_status wait_for_job(void* context, int64_t timeout_ns) {
    struct job* const here = context;
    ++here->waits;
    CHECK(timeout_ns >= 0);
    return here->status;
}

static void end_job(void* context) { ++((struct job*)context)->ended; }

/// Ends a lease of the first 100 bytes with the job.
static void use_until(struct job* here, unibuf_buffer* buffer, unibuf_space where) {
    const unibuf_work work = {wait_for_job, end_job, here};
    unibuf_fence* fence = NULL;
    CHECK_OK(unibuf_fence_create(&work, &fence));
    unibuf_access_options some = UNIBUF_ACCESS_INIT;
    some.size = 100;
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(buffer, where, UNIBUF_READ_WRITE, &some, &lease));
    CHECK_OK(unibuf_release_after(&lease, fence));
    CHECK(lease.data == NULL && lease.native.size == 0);
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_release_after(&lease, fence));
    unibuf_release(&lease);
    unibuf_fence_destroy(fence);
}

void contract_of_events(unibuf_space where) {
    const unibuf_work nothing = {NULL, end_job, NULL};
    unibuf_fence* fence = NULL;
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "waits", unibuf_fence_create(&nothing, &fence));
    struct job job = {.status = UNIBUF_TIMEOUT};
    const unibuf_work work = {wait_for_job, end_job, &job};
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "place", unibuf_fence_create(&work, NULL));
    CHECK(fence == NULL && job.ended == 0);
    CHECK_OK(unibuf_fence_create(&work, &fence));
    CHECK_STATUS(UNIBUF_TIMEOUT, unibuf_fence_wait(fence, 7));

    unibuf_buffer* const buffer = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    host_writes(buffer, 1);
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_READ, NULL, &lease));
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "fence", unibuf_release_after(&lease, NULL));
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "host", unibuf_release_after(&lease, fence));
    CHECK(lease.data != NULL);
    unibuf_release(&lease);
    unibuf_fence_destroy(fence);
    CHECK(job.ended == 1);

    if (where != UNIBUF_HOST) {
        // The bytes are the job's until it is done, and nobody else's are.
        use_until(&job, buffer, where);
        unibuf_access_options once = UNIBUF_ACCESS_INIT;
        once.size = 1;
        once.timeout_ns = 0;
        const int before = job.waits;
        CHECK_STATUS(UNIBUF_TIMEOUT, unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_READ, &once, &lease));
        CHECK(job.waits > before && job.ended == 1);
        job.status = UNIBUF_OK;
        CHECK_OK(unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_READ, &once, &lease));
        unibuf_release(&lease);
        CHECK(job.ended == 2);
        CHECK(host_reads_noise(buffer, 1));

        // The access that waits for it has what went wrong with it.
        use_until(&job, buffer, where);
        job.status = UNIBUF_DEVICE_LOST;
        CHECK_REFUSED(UNIBUF_DEVICE_LOST, "device_lost",
                      unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_READ_WRITE, NULL, &lease));
        CHECK(job.ended == 3);
    }
    unibuf_destroy(buffer);
}

void contract_of_names(unibuf_space where) {
    unibuf_buffer* const buffer = made(1000, where, UNIBUF_HINT_NONE);
    host_writes(buffer, 1);
    CHECK_OK(unibuf_register("frames", buffer, false));
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "frames", unibuf_register("frames", buffer, false));
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_register("", buffer, false));
    unibuf_buffer* found = NULL;
    CHECK_OK(unibuf_find("frames", &found));
    CHECK(found != NULL && found != buffer && unibuf_id(found) == unibuf_id(buffer));
    unibuf_destroy(buffer);
    CHECK(host_reads_noise(found, 1));
    unibuf_destroy(found);
    CHECK_OK(unibuf_find("frames", &found));  // the name kept nothing
    CHECK(found == NULL);

    unibuf_buffer* const kept = made(1000, where, UNIBUF_HINT_NONE);
    host_writes(kept, 2);
    CHECK_OK(unibuf_register("kept", kept, true));
    unibuf_destroy(kept);
    CHECK_OK(unibuf_find("kept", &found));
    CHECK(found != NULL && host_reads_noise(found, 2));
    unibuf_destroy(found);
    bool existed = false;
    CHECK_OK(unibuf_unregister("kept", &existed));
    CHECK(existed);
    CHECK_OK(unibuf_unregister("kept", &existed));
    CHECK(!existed);
    CHECK_OK(unibuf_unregister("kept", NULL));
}
