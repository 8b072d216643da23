// tests/c/contract_access.c: options, leases and raw access.
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "contract.h"

static unibuf_status acquired(unibuf_buffer* buffer, unibuf_space where, unibuf_access access) {
    unibuf_lease lease;
    const unibuf_status status = unibuf_acquire(buffer, where, access, NULL, &lease);
    CHECK((status == UNIBUF_OK) == (lease.native.size != 0));
    unibuf_release(&lease);
    return status;
}

static void check_host_access(unibuf_space where, unibuf_host_access access, bool reads, bool writes) {
    unibuf_options options = UNIBUF_OPTIONS_INIT;
    options.access = access;
    options.device = where;
    unibuf_buffer* buffer = NULL;
    const bool is_device = where == UNIBUF_HOST;  // in the place of a device the host is kept from nothing
    CHECK_OK(unibuf_create(some_bytes, &options, &buffer));
    CHECK_STATUS(reads || is_device ? UNIBUF_OK : UNIBUF_INVALID_ARGUMENT, acquired(buffer, UNIBUF_HOST, UNIBUF_READ));
    CHECK_STATUS(writes || is_device ? UNIBUF_OK : UNIBUF_INVALID_ARGUMENT,
                 acquired(buffer, UNIBUF_HOST, UNIBUF_WRITE));
    const void* to_read = NULL;
    CHECK_STATUS(reads || is_device ? UNIBUF_OK : UNIBUF_INVALID_ARGUMENT, unibuf_host_to_read(buffer, &to_read));
    CHECK_STATUS(reads || is_device ? UNIBUF_OK : UNIBUF_INVALID_ARGUMENT, unibuf_prefetch(buffer, UNIBUF_HOST, NULL));
    CHECK_OK(unibuf_prefetch(buffer, where, NULL));
    CHECK_OK(acquired(buffer, where, UNIBUF_READ_WRITE));
    unibuf_destroy(buffer);
}

static void check_hint(unibuf_space where, unibuf_memory_hint hint, bool may_share) {
    unibuf_buffer* const buffer = made(some_bytes, where, hint);
    host_writes(buffer, 1);
    CHECK(device_has_noise(buffer, where, 1));
    unibuf_placement placement;
    CHECK_OK(unibuf_placement_at(buffer, where, &placement));
    CHECK(strlen(placement.reason) > 0);
    CHECK(may_share || !placement.shared);
    CHECK(placement.shared || bytes_moved(buffer) == (where == UNIBUF_HOST ? 0 : 2 * some_bytes));
    CHECK(!placement.shared || bytes_moved(buffer) == 0);
    unibuf_destroy(buffer);
}

void contract_of_options(unibuf_space where) {
    const bool device = where != UNIBUF_HOST;
    check_host_access(where, UNIBUF_HOST_READ_WRITE, true, true);
    check_host_access(where, UNIBUF_HOST_READ_ONLY, true, false);
    check_host_access(where, UNIBUF_HOST_WRITE_ONLY, false, true);
    check_hint(where, UNIBUF_HINT_NONE, true);
    check_hint(where, UNIBUF_HINT_CPU_PREFERRED, true);
    check_hint(where, UNIBUF_HINT_GPU_PREFERRED, !device);
    check_hint(where, UNIBUF_HINT_COHERENT, true);
    check_hint(where, UNIBUF_HINT_STREAMING, true);

    unibuf_buffer* plain = NULL;
    unibuf_buffer* other = NULL;
    CHECK_OK(unibuf_create(some_bytes, NULL, &plain));
    CHECK_OK(unibuf_create(0, NULL, &other));
    CHECK(unibuf_size(plain) == some_bytes && unibuf_size(other) == 0);
    CHECK(unibuf_id(plain) != 0 && unibuf_id(plain) != unibuf_id(other));
    CHECK(state_of(plain) == UNIBUF_UNINITIALIZED);
    CHECK(host_reads(plain, 0));
    touch(other, where, UNIBUF_READ, 0, UNIBUF_REST);
    unibuf_destroy(other);
    unibuf_destroy(plain);

    unibuf_options options = UNIBUF_OPTIONS_INIT;
    options.pinned = true;
    options.tracking = UNIBUF_TRACKING_OFF;
    options.device = where;
    CHECK_OK(unibuf_create(some_bytes, &options, &plain));
    host_writes(plain, 7);
    unibuf_placement at_host;
    CHECK_OK(unibuf_placement_at(plain, UNIBUF_HOST, &at_host));
    CHECK(strlen(at_host.reason) > 0);
    CHECK(at_host.pinned == (strncmp(unibuf_space_name(where), "cuda:", 5) == 0));
    // Without tracking, bytes that pointers are out to count as written at each access.
    void* pointer = NULL;
    CHECK_OK(unibuf_host(plain, &pointer));
    touch(plain, where, UNIBUF_READ, 0, UNIBUF_REST);
    if (device) CHECK(state_of(plain) == UNIBUF_HOST_DIRTY || is_shared(plain, where));
    CHECK(device_has_noise(plain, where, 7) || device);
    unibuf_destroy(plain);

    // Bytes that a pool's buffer had before show whether it was left uninitialized.
    unibuf_pool* pool = NULL;
    CHECK_OK(unibuf_pool_create(&pool));
    options = (unibuf_options)UNIBUF_OPTIONS_INIT;
    options.uninitialized = true;
    CHECK_OK(unibuf_pool_acquire(pool, some_bytes, &options, &plain));
    host_writes(plain, 3);
    CHECK_OK(unibuf_pool_release(pool, plain));
    CHECK_OK(unibuf_pool_acquire(pool, some_bytes, &options, &plain));
    CHECK(host_reads_noise(plain, 3));
    unibuf_destroy(plain);
    unibuf_pool_destroy(pool);
}

struct attempt {
    unibuf_buffer* buffer;
    unibuf_space where;
    unibuf_access access;
    int64_t timeout_ns;
    unibuf_status status;
    bool message_is_here;
};

static void* acquire_elsewhere(void* argument) {
    struct attempt* const mine = argument;
    unibuf_access_options options = UNIBUF_ACCESS_INIT;
    options.timeout_ns = mine->timeout_ns;
    unibuf_lease lease;
    mine->status = unibuf_acquire(mine->buffer, mine->where, mine->access, &options, &lease);
    mine->message_is_here = strlen(unibuf_message()) > 0;
    unibuf_release(&lease);
    return NULL;
}

static struct attempt on_another_thread(unibuf_buffer* buffer, unibuf_space where, unibuf_access access,
                                        int64_t timeout_ns) {
    struct attempt other = {buffer, where, access, timeout_ns, UNIBUF_OK, false};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, acquire_elsewhere, &other) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return other;
}

void contract_of_leases(unibuf_space where) {
    unibuf_buffer* const buffer = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    host_writes(buffer, 1);

    unibuf_access_options part = UNIBUF_ACCESS_INIT;
    part.offset = 1000;
    part.size = 50;
    unibuf_lease lease;
    memset(&lease, 0xEE, sizeof lease);  // what the lease was before does not matter
    CHECK_OK(unibuf_acquire(buffer, where, UNIBUF_READ, &part, &lease));
    CHECK(lease.native.where == where && lease.native.handle != 0);
    CHECK(lease.native.offset == 1000 || where == UNIBUF_HOST);
    CHECK(lease.native.size == 50);
    CHECK(bytes_moved(buffer) == (where == UNIBUF_HOST ? 0 : 50));
    if (lease.data) CHECK(is_noise(lease.data, 1000, 50, 1));

    // Readers share; a writer is refused in this thread, and waits in another.
    unibuf_lease second = UNIBUF_LEASE_INIT;
    CHECK_OK(unibuf_acquire(buffer, where, UNIBUF_READ, NULL, &second));
    CHECK(on_another_thread(buffer, where, UNIBUF_READ, UNIBUF_FOREVER).status == UNIBUF_OK);
    unibuf_release(&second);
    CHECK_REFUSED(UNIBUF_ACCESS_CONFLICT, "write", unibuf_acquire(buffer, where, UNIBUF_WRITE, NULL, &second));
    CHECK(second.data == NULL && second.native.size == 0 && second.reserved[0] == 0);
    const struct attempt late = on_another_thread(buffer, where, UNIBUF_READ_WRITE, 1000000);
    CHECK(late.status == UNIBUF_TIMEOUT && late.message_is_here);
    CHECK_OK(unibuf_set_default_timeout(1000000));
    CHECK(on_another_thread(buffer, where, UNIBUF_READ_WRITE, UNIBUF_FOREVER).status == UNIBUF_TIMEOUT);
    CHECK_OK(unibuf_set_default_timeout(UNIBUF_FOREVER));
    unibuf_release(&lease);
    CHECK(lease.data == NULL && lease.native.size == 0);
    CHECK(on_another_thread(buffer, where, UNIBUF_READ_WRITE, UNIBUF_FOREVER).status == UNIBUF_OK);
    unibuf_release(&lease);  // does nothing

    // A lease outlives its buffer.
    CHECK_OK(unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_READ, NULL, &lease));
    unibuf_destroy(buffer);
    CHECK(is_noise(lease.data, 0, 50, 1));
    unibuf_release(&lease);
}

void contract_of_one_thread(unibuf_space where) {
    unibuf_buffer* buffers[3];
    unibuf_lease leases[3];
    for (int i = 0; i < 3; ++i) {
        buffers[i] = made(some_bytes, where, UNIBUF_HINT_NONE);
        host_writes(buffers[i], 1);
        CHECK_OK(unibuf_acquire(buffers[i], UNIBUF_HOST, UNIBUF_READ_WRITE, NULL, &leases[i]));
    }
    // All leases count as this thread's, however many it has taken since the first.
    for (int i = 0; i < 3; ++i) {
        unibuf_lease refused;
        CHECK_REFUSED(UNIBUF_ACCESS_CONFLICT, "same thread",
                      unibuf_acquire(buffers[i], UNIBUF_HOST, UNIBUF_WRITE, NULL, &refused));
    }
    for (int i = 0; i < 3; ++i) {
        unibuf_release(&leases[i]);
        unibuf_destroy(buffers[i]);
    }
}

void contract_of_leases_together(unibuf_space where) {
    unibuf_buffer* const from = made(some_bytes, where, UNIBUF_HINT_NONE);
    unibuf_buffer* const to = made(some_bytes, where, UNIBUF_HINT_NONE);
    host_writes(from, 1);
    host_writes(to, 2);
    unibuf_access_options part = UNIBUF_ACCESS_INIT;
    part.offset = 8;
    part.size = 16;
    const unibuf_wanted_lease wanted[] = {{to, where, UNIBUF_WRITE, NULL}, {from, where, UNIBUF_READ, &part}};
    unibuf_lease leases[2] = {UNIBUF_LEASE_INIT, UNIBUF_LEASE_INIT};
    CHECK_OK(unibuf_acquire_together(wanted, 2, leases));
    CHECK(leases[0].native.size == some_bytes && leases[1].native.size == 16);
    CHECK_REFUSED(UNIBUF_ACCESS_CONFLICT, "write", unibuf_mark_dirty(to, UNIBUF_HOST, NULL));
    unibuf_release(&leases[0]);
    unibuf_release(&leases[1]);

    // Where the second lease is refused, the first is not held either, and nothing has become newest at its space.
    host_writes(to, 2);
    host_writes(from, 1);
    unibuf_lease held;
    CHECK_OK(unibuf_acquire(from, UNIBUF_HOST, UNIBUF_WRITE, NULL, &held));
    memset(leases, 0xEE, sizeof leases);
    CHECK_STATUS(UNIBUF_ACCESS_CONFLICT, unibuf_acquire_together(wanted, 2, leases));
    CHECK(leases[0].reserved[0] == 0 && leases[1].reserved[0] == 0);
    CHECK(host_reads_noise(to, 2));
    unibuf_release(&held);
    CHECK_OK(unibuf_acquire_together(NULL, 0, NULL));
    unibuf_destroy(from);
    unibuf_destroy(to);
}

void contract_of_raw_access(unibuf_space where) {
    const bool device = where != UNIBUF_HOST;
    unibuf_buffer* const buffer = made(1 << 20, where, UNIBUF_HINT_GPU_PREFERRED);
    void* pointer = NULL;
    CHECK_OK(unibuf_host(buffer, &pointer));
    unsigned char* const host = pointer;
    for (size_t i = 0; i < 1 << 20; ++i) host[i] = noise_at(i, 5);
    CHECK(state_of(buffer) == UNIBUF_HOST_DIRTY);
    unibuf_native native;
    CHECK_OK(unibuf_device(buffer, &native));
    CHECK(native.where == where && native.size == 1 << 20 && native.offset == 0 && native.handle != 0);
    const uint64_t moved = bytes_moved(buffer);
    CHECK(moved == (device ? 1 << 20 : 0));

    // The device sees a write that nobody was told of.
    host[500000] = 0;
    CHECK(state_of(buffer) == UNIBUF_HOST_DIRTY);
    CHECK_OK(unibuf_device(buffer, &native));
    CHECK((bytes_moved(buffer) > moved) == device);
    CHECK_OK(unibuf_release_host(buffer));
    CHECK_OK(unibuf_release_device(buffer));
    if (device) {
        CHECK_OK(unibuf_mark_device_dirty(buffer, 0, UNIBUF_REST));
        CHECK_OK(unibuf_discard(buffer, UNIBUF_HOST));  // the bytes that are read next come from the device
    }
    unsigned char got[3];
    CHECK_OK(unibuf_copy_to(buffer, got, 3, 499999));
    CHECK(got[0] == noise_at(499999, 5) && got[1] == 0 && got[2] == noise_at(500001, 5));

    // Pointers for reading cost nothing later.
    const void* to_read = NULL;
    CHECK_OK(unibuf_host_to_read(buffer, &to_read));
    CHECK(is_noise(to_read, 0, 500000, 5));
    CHECK_OK(unibuf_device(buffer, &native));
    if (device) CHECK(state_of(buffer) == UNIBUF_SYNCHRONIZED);
    unibuf_destroy(buffer);
}
