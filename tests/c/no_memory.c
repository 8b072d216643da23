// no_memory.c SPACE: each call in turn is denied its first allocation, then its second, and so on. Either the call
// answers UNIBUF_OUT_OF_MEMORY, and no content is lost, or it succeeds without the allocation.
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "denied.h"

enum { size = 5000 };

struct work {
    unibuf_space where;
    unibuf_buffer* buffer;  // `size` bytes of 7, at the host
    unibuf_pool* pool;
};

static unibuf_status touch(const struct work* with, unibuf_space where, unibuf_access access) {
    unibuf_lease lease;
    const unibuf_status status = unibuf_acquire(with->buffer, where, access, NULL, &lease);
    unibuf_release(&lease);
    return status;
}

static unibuf_status create(struct work* with) {
    unibuf_buffer* made = NULL;
    (void)with;
    const unibuf_status status = unibuf_create(size, NULL, &made);
    unibuf_destroy(made);
    return status;
}

static void count(void* context) { ++*(int*)context; }

static unibuf_status create_over(struct work* with) {
    static char memory[size];
    unibuf_buffer* made = NULL;
    int freed = 0;
    (void)with;
    const unibuf_status status = unibuf_create_over(memory, size, count, &freed, NULL, &made);
    unibuf_destroy(made);
    CHECK(freed == (status == UNIBUF_OK ? 1 : 0));
    return status;
}

static unibuf_status view(struct work* with) {
    unibuf_buffer* made = NULL;
    const unibuf_status status = unibuf_view(with->buffer, 10, 20, &made);
    unibuf_destroy(made);
    return status;
}

static unibuf_status read_there(struct work* with) { return touch(with, with->where, UNIBUF_READ); }
static unibuf_status write_a_part(struct work* with) { return unibuf_copy_from(with->buffer, "\7\7\7", 3, 1001); }

static unibuf_status together(struct work* with) {
    const unibuf_wanted_lease wanted[2] = {{with->buffer, with->where, UNIBUF_READ, NULL},
                                           {with->buffer, UNIBUF_HOST, UNIBUF_READ, NULL}};
    unibuf_lease leases[2];
    const unibuf_status status = unibuf_acquire_together(wanted, 2, leases);
    for (int i = 0; i < 2; ++i) unibuf_release(&leases[i]);
    return status;
}

static unibuf_status raw(struct work* with) {
    void* pointer = NULL;
    unibuf_native native;
    unibuf_status status = unibuf_host(with->buffer, &pointer);
    if (status == UNIBUF_OK) status = unibuf_device(with->buffer, &native);
    return status;
}

static void refuse_to_let_go(void* context) { (void)context; }

static unibuf_status hold(struct work* with) {
    unibuf_held* held = NULL;
    int ended = 0;
    const unibuf_holder holder = {refuse_to_let_go, count, &ended};
    unibuf_status status = unibuf_hold(with->buffer, with->where, 0, UNIBUF_REST, &held);
    if (status == UNIBUF_OK) status = unibuf_held_by(held, &holder);
    unibuf_let_go(held);
    CHECK(ended == (status == UNIBUF_OK ? 1 : 0));
    return status;
}

static unibuf_status ok(void* context) {
    (void)context;
    return UNIBUF_OK;
}

static unibuf_status bind(struct work* with) {
    unibuf_standing_options options = UNIBUF_STANDING_INIT;
    unibuf_standing_hold* made = NULL;
    options.pause = ok;
    options.context = with;
    unibuf_status status = unibuf_bind(with->buffer, with->where, UNIBUF_READ_WRITE, &options, &made);
    if (status == UNIBUF_OK) status = unibuf_standing_hold_pause(made);
    if (status == UNIBUF_OK) status = unibuf_standing_hold_resume(made);
    unibuf_standing_hold_release(made);
    return status;
}

static unibuf_status sync_a_part(struct work* with) {
    const unibuf_status status = unibuf_mark_host_dirty(with->buffer, 100, 50);
    return status == UNIBUF_OK ? unibuf_sync_to_device(with->buffer, 90, 70) : status;
}

static unibuf_status fill(struct work* with) { return unibuf_fill(with->buffer, "\7", 1); }

static unibuf_status figures(struct work* with) {
    unibuf_transfer_count kinds[8];
    unibuf_placement placement;
    size_t kinds_there = 0;
    unibuf_status status = unibuf_transfers_of(with->buffer, kinds, 8, &kinds_there);
    if (status == UNIBUF_OK) status = unibuf_placement_at(with->buffer, UNIBUF_HOST, &placement);
    return status;
}

static unibuf_status devices(struct work* with) {
    unibuf_devices* list = NULL;
    (void)with;
    const unibuf_status status = unibuf_devices_list(&list);
    unibuf_devices_destroy(list);
    return status;
}

static unibuf_status fence(struct work* with) {
    unibuf_fence* made = NULL;
    const unibuf_status status = unibuf_record_fence(with->where, NULL, &made);
    unibuf_fence_destroy(made);
    return status;
}

static unibuf_status is_done(void* context, int64_t timeout_ns) {
    (void)context;
    (void)timeout_ns;
    return UNIBUF_OK;
}

static unibuf_status end_with_event(struct work* with) {
    const unibuf_work work = {is_done, NULL, NULL};
    unibuf_fence* made = NULL;
    unibuf_lease lease;
    unibuf_status status = unibuf_fence_create(&work, &made);
    if (status != UNIBUF_OK) return status;
    status = unibuf_acquire(with->buffer, with->where, UNIBUF_READ, NULL, &lease);
    if (status == UNIBUF_OK) status = unibuf_release_after(&lease, made);
    unibuf_release(&lease);
    unibuf_fence_destroy(made);
    return status;
}

static unibuf_status pool(struct work* with) {
    unibuf_buffer* made = NULL;
    unibuf_pool* own = NULL;
    unibuf_status status = unibuf_pool_create(&own);
    unibuf_pool_destroy(own);
    if (status == UNIBUF_OK) status = unibuf_pool_acquire(with->pool, 300, NULL, &made);
    if (status != UNIBUF_OK) return status;
    status = unibuf_pool_release(with->pool, made);
    if (status != UNIBUF_OK) unibuf_destroy(made);  // the buffer is still the caller's
    return status;
}

static unibuf_status batch(struct work* with) {
    unibuf_batch* made = NULL;
    unibuf_status status = unibuf_batch_create(with->where, &made);
    if (status == UNIBUF_OK) status = unibuf_batch_write(made, with->buffer, "\7\7\7\7", 4, 30);
    if (status == UNIBUF_OK) status = unibuf_batch_submit(made);
    unibuf_batch_destroy(made);
    return status;
}

static unibuf_status names(struct work* with) {
    unibuf_buffer* found = NULL;
    unibuf_status status = unibuf_register("a name of more than a few letters", with->buffer, false);
    if (status == UNIBUF_OK) status = unibuf_find("a name of more than a few letters", &found);
    unibuf_destroy(found);
    CHECK_OK(unibuf_unregister("a name of more than a few letters", NULL));
    return status;
}

static unibuf_status share(struct work* with) {
    unibuf_shared_name name;
    unibuf_buffer* found = NULL;
    unibuf_status status = unibuf_share(with->buffer, &name);
    if (status == UNIBUF_OK) status = unibuf_attach(name.text, NULL, &found);
    unibuf_destroy(found);
    return status;
}

static void see(void* context, const unibuf_transfer* transfer) {
    (void)context;
    (void)transfer;
}

static unibuf_status observer(struct work* with) {
    const unibuf_status status = unibuf_set_transfer_observer(see, with);
    return status == UNIBUF_OK ? unibuf_set_transfer_observer(NULL, NULL) : status;
}

static unibuf_status guard(struct work* with) {
    unibuf_guard* guard = NULL;
    unibuf_budget* budget = NULL;
    unibuf_status status = unibuf_guard_begin(UNIBUF_GUARD_REFUSE, UNIBUF_HOST, with->where, &guard);
    if (status == UNIBUF_OK) status = unibuf_budget_begin(0, UNIBUF_NO_SPACE, with->where, &budget);
    if (status == UNIBUF_OK) status = unibuf_budget_check(budget, NULL);
    unibuf_budget_end(budget);
    unibuf_guard_end(guard);
    return status;
}

static void check_content(const struct work* with) {
    unsigned char got[size];
    CHECK_OK(unibuf_copy_to(with->buffer, got, size, 0));
    bool same = true;
    for (int i = 0; i < size; ++i) same = same && got[i] == 7;
    CHECK(same);
}

/// Makes the call with each of its allocations denied in turn.
static void deny_each(unibuf_status (*call)(struct work*), unibuf_space where) {
    for (int n = 0; n < 1000; ++n) {
        struct work with = {.where = where};
        CHECK_OK(unibuf_create(size, NULL, &with.buffer));
        CHECK_OK(unibuf_pool_create(&with.pool));
        CHECK_OK(unibuf_fill(with.buffer, "\7", 1));
        deny(n);
        const unibuf_status status = call(&with);
        const bool was_denied = denied();
        CHECK(status == UNIBUF_OK || (was_denied && status == UNIBUF_OUT_OF_MEMORY));
        CHECK(status == UNIBUF_OK || strlen(unibuf_message()) > 0);
        check_content(&with);
        CHECK_OK(call(&with));  // with memory the call succeeds
        check_content(&with);
        unibuf_destroy(with.buffer);
        unibuf_pool_destroy(with.pool);
        if (was_denied) continue;
        if (n == 0) printf("makes no allocation: ");
        return;
    }
    CHECK(!"a call makes a thousand allocations");
}

int main(int argc, char** argv) {
    unibuf_space where = UNIBUF_NO_SPACE;
    if (argc != 2) return 2;
    CHECK_OK(unibuf_find_space(argv[1], &where));
    CHECK_OK(unibuf_set_default_device(where));
    struct work nothing = {.where = where};
    CHECK_OK(devices(&nothing));  // drivers are loaded with memory
    deny(0);
    CHECK(unibuf_pool_shared() != NULL);  // this call cannot fail
    CHECK(!denied());
    RUN(deny_each(create, where));
    RUN(deny_each(create_over, where));
    RUN(deny_each(view, where));
    RUN(deny_each(read_there, where));
    RUN(deny_each(write_a_part, where));
    RUN(deny_each(together, where));
    RUN(deny_each(raw, where));
    RUN(deny_each(hold, where));
    RUN(deny_each(bind, where));
    RUN(deny_each(sync_a_part, where));
    RUN(deny_each(fill, where));
    RUN(deny_each(figures, where));
    RUN(deny_each(devices, where));
    RUN(deny_each(fence, where));
    RUN(deny_each(end_with_event, where));
    RUN(deny_each(pool, where));
    RUN(deny_each(batch, where));
    RUN(deny_each(guard, where));
    RUN(deny_each(names, where));
    RUN(deny_each(share, where));
    RUN(deny_each(observer, where));
    uint64_t held = 1;
    unibuf_memory_held(&held, NULL);
    CHECK(held == 0);  // everything made before a call failed has gone
    return 0;
}
