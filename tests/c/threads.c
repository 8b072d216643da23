// threads.c SPACE: many threads, each with buffers of its own, and all with one.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { threads = 8, rounds = 20, part = 4099 };

struct work {
    unibuf_space where;
    unibuf_buffer* shared;
    unibuf_buffer* in_turns[2];
    int number;
};

static void fill(unibuf_lease* lease, unsigned char value) {
    memset(lease->data, value, lease->native.size);
    unibuf_release(lease);
}

static bool all_are(unibuf_buffer* buffer, unsigned char value) {
    unsigned char got[part];
    CHECK_OK(unibuf_copy_to(buffer, got, part, 0));
    for (size_t i = 0; i < part; ++i) {
        if (got[i] != value) return false;
    }
    return true;
}

/// Uses a buffer that nobody else has, from the pool that all threads share.
static void use_own(const struct work* mine, unsigned char value) {
    unibuf_lease lease;
    unibuf_buffer* own = NULL;
    CHECK_OK(unibuf_pool_acquire(unibuf_pool_shared(), part, NULL, &own));
    CHECK_OK(unibuf_acquire(own, UNIBUF_HOST, UNIBUF_WRITE, NULL, &lease));
    fill(&lease, value);
    CHECK_OK(unibuf_acquire(own, mine->where, UNIBUF_READ_WRITE, NULL, &lease));
    unibuf_release(&lease);
    CHECK(all_are(own, value));
    CHECK_OK(unibuf_pool_release(unibuf_pool_shared(), own));
}

/// Uses one range of a buffer, of which the other threads use other ranges.
static void use_range(const struct work* mine, unsigned char value) {
    unibuf_lease lease;
    unibuf_buffer* view = NULL;
    CHECK_OK(unibuf_view(mine->shared, (size_t)mine->number * part, part, &view));
    CHECK_OK(unibuf_acquire(view, UNIBUF_HOST, UNIBUF_WRITE, NULL, &lease));
    fill(&lease, value);
    CHECK_OK(unibuf_prefetch(view, mine->where, NULL));
    CHECK_OK(unibuf_acquire(view, mine->where, UNIBUF_READ_WRITE, NULL, &lease));
    unibuf_release(&lease);
    CHECK(all_are(view, value));
    unibuf_destroy(view);
}

/// Uses two buffers at once, in either order: nobody waits in a circle, and both always have the same value.
static void use_both(const struct work* mine, unsigned char value) {
    const int first = mine->number % 2;
    const unibuf_wanted_lease wanted[2] = {{mine->in_turns[first], UNIBUF_HOST, UNIBUF_READ_WRITE, NULL},
                                           {mine->in_turns[1 - first], UNIBUF_HOST, UNIBUF_READ_WRITE, NULL}};
    unibuf_lease leases[2];
    CHECK_OK(unibuf_acquire_together(wanted, 2, leases));
    CHECK(memcmp(leases[0].data, leases[1].data, part) == 0);
    fill(&leases[0], value);
    memset(leases[1].data, value, part);
    unibuf_release(&leases[1]);
}

/// Checks that a failure is told only to the thread that it happened on.
static void fail(const struct work* mine) {
    char name[32];
    snprintf(name, sizeof name, "thread-%d", mine->number);
    unibuf_space where = 0;
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, name, unibuf_find_space(name, &where));
}

static void* run(void* argument) {
    const struct work* const mine = argument;
    for (int round = 0; round < rounds; ++round) {
        const unsigned char value = (unsigned char)(mine->number * rounds + round + 1);
        use_own(mine, value);
        use_range(mine, value);
        use_both(mine, value);
        fail(mine);
    }
    return NULL;
}

struct handed_over {
    unibuf_lease lease;
    unibuf_fence* fence;
};

static void* end(void* argument) {
    struct handed_over* const here = argument;
    unibuf_release(&here->lease);
    CHECK_OK(unibuf_fence_wait(here->fence, UNIBUF_FOREVER));
    return NULL;
}

static void many_threads(unibuf_space where) {
    struct work all[threads];
    unibuf_buffer* shared = NULL;
    unibuf_buffer* in_turns[2] = {NULL, NULL};
    CHECK_OK(unibuf_create((size_t)threads * part, NULL, &shared));
    for (int i = 0; i < 2; ++i) CHECK_OK(unibuf_create(part, NULL, &in_turns[i]));
    pthread_t running[threads];
    for (int i = 0; i < threads; ++i) {
        all[i] = (struct work){where, shared, {in_turns[0], in_turns[1]}, i};
        CHECK(pthread_create(&running[i], NULL, run, &all[i]) == 0);
    }
    for (int i = 0; i < threads; ++i) CHECK(pthread_join(running[i], NULL) == 0);
    unibuf_destroy(shared);
    for (int i = 0; i < 2; ++i) unibuf_destroy(in_turns[i]);
    CHECK_OK(unibuf_pool_trim(unibuf_pool_shared(), 0));
}

/// Ends a lease, and waits for a fence, on another thread than the one that made them.
static void handing_over(unibuf_space where) {
    unibuf_buffer* buffer = NULL;
    CHECK_OK(unibuf_create(part, NULL, &buffer));
    struct handed_over over = {UNIBUF_LEASE_INIT, NULL};
    CHECK_OK(unibuf_acquire(buffer, where, UNIBUF_WRITE, NULL, &over.lease));
    CHECK_OK(unibuf_record_fence(where, NULL, &over.fence));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, end, &over) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(over.lease.reserved[0] == 0);
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(buffer, where, UNIBUF_READ_WRITE, NULL, &lease));  // nobody holds it
    unibuf_release(&lease);
    unibuf_fence_destroy(over.fence);
    unibuf_destroy(buffer);
}

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    unibuf_space where = UNIBUF_NO_SPACE;
    const unibuf_status found = unibuf_find_space(argv[1], &where);
    if (found == UNIBUF_DEVICE_UNAVAILABLE) skip(unibuf_message());
    CHECK_OK(found);
    RUN(many_threads(where));
    RUN(handing_over(where));
    return 0;
}
