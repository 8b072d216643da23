// tests/c/bad_input_buffers.c: nonsense in calls on a buffer is refused, and changes nothing.
#include <string.h>

#include "bad_input.h"

void bad_places(unibuf_buffer* buffer) {
    INVALID("place", unibuf_view(buffer, 0, 1, NULL));
    const size_t extents[] = {size};
    const size_t from[] = {0};
    unibuf_buffer* rectangle = no_buffer;
    INVALID("place", unibuf_view_rect(buffer, 1, 1, extents, from, extents, NULL));
    INVALID("buffer", unibuf_view_rect(NULL, 1, 1, extents, from, extents, &rectangle));
    INVALID("extents", unibuf_view_rect(buffer, 1, 1, NULL, from, extents, &rectangle));
    INVALID("begin", unibuf_view_rect(buffer, 1, 1, extents, NULL, extents, &rectangle));
    INVALID("end", unibuf_view_rect(buffer, 1, 1, extents, from, NULL, &rectangle));
    INVALID("array of 1 elements", unibuf_view_rect(buffer, 1, 0, extents, from, extents, &rectangle));
    INVALID("elements of 0 bytes", unibuf_view_rect(buffer, 0, 1, extents, from, extents, &rectangle));
    INVALID("data", unibuf_copy_from(buffer, NULL, 1, 0));
    INVALID("data", unibuf_copy_to(buffer, NULL, 1, 0));
    INVALID("data", unibuf_copy_to(buffer, NULL, UNIBUF_REST, 0));
    INVALID("data", unibuf_fill(buffer, NULL, 1));
    INVALID("place", unibuf_state(buffer, NULL));
    INVALID("place", unibuf_placement_at(buffer, UNIBUF_HOST, NULL));
    INVALID("place", unibuf_statistics_of(buffer, NULL));
    INVALID("place", unibuf_transfers_of(buffer, NULL, 0, NULL));
    size_t count = 77;
    INVALID("place", unibuf_transfers_of(buffer, NULL, 1, &count));
    INVALID("place", unibuf_record_fence(UNIBUF_HOST, NULL, NULL));
    INVALID("place", unibuf_find("name", NULL));
    unibuf_buffer* found = no_buffer;
    INVALID("name", unibuf_find(NULL, &found));
    INVALID("name", unibuf_register(NULL, buffer, false));
    INVALID("name", unibuf_unregister(NULL, NULL));
    CHECK_OK(unibuf_register("taken", buffer, false));
    INVALID("place", unibuf_find("taken", NULL));
    CHECK_OK(unibuf_unregister("taken", NULL));
    INVALID("place", unibuf_share(buffer, NULL));
    INVALID("name", unibuf_attach(NULL, NULL, &found));
    INVALID("nonsense", unibuf_attach("nonsense", NULL, &found));
    INVALID("unibuf:1:", unibuf_attach("unibuf:1:99999:1", NULL, &found));
    unibuf_options wrong = UNIBUF_OPTIONS_INIT;
    wrong.device = no_such_spaces[0] - 1;
    INVALID("space", unibuf_attach("nonsense", &wrong, &found));
    INVALID("place", unibuf_attach("nonsense", NULL, NULL));
    unibuf_buffer* part = NULL;
    unibuf_shared_name name = {"mine"};
    CHECK_OK(unibuf_view(buffer, 1, 2, &part));
    INVALID("share all of it", unibuf_share(part, &name));
    unibuf_destroy(part);
    CHECK(strcmp(name.text, "mine") == 0);
    CHECK(count == 77 && found == no_buffer);
}

void bad_numbers(unibuf_buffer* buffer) {
    unibuf_lease lease;
    for (int number = -1; number <= 8; ++number) {
        if (number >= UNIBUF_READ && number <= UNIBUF_READ_WRITE) continue;
        INVALID("access", unibuf_acquire(buffer, UNIBUF_HOST, (unibuf_access)number, NULL, &lease));
    }
    unibuf_held* held = (void*)0x10;
    unibuf_standing_hold* standing = (void*)0x10;
    unibuf_fence* fence = (void*)0x10;
    unibuf_batch* batch = (void*)0x10;
    unibuf_placement placement = {.reason = "mine"};
    unibuf_native native = {.where = 0, .handle = 16, .offset = 0, .size = 1};
    void* pointer = &lease;
    for (int i = 0; i < spaces; ++i) {
        const unibuf_space none = no_such_spaces[i];
        INVALID("space", unibuf_acquire(buffer, none, UNIBUF_READ, NULL, &lease));
        INVALID("space", unibuf_hold(buffer, none, 0, 1, &held));
        INVALID("space", unibuf_bind(buffer, none, UNIBUF_READ, NULL, &standing));
        INVALID("space", unibuf_mark_dirty(buffer, none, NULL));
        INVALID("space", unibuf_prefetch(buffer, none, NULL));
        INVALID("space", unibuf_discard(buffer, none));
        INVALID("space", unibuf_placement_at(buffer, none, &placement));
        INVALID("space", unibuf_record_fence(none, NULL, &fence));
        INVALID("space", unibuf_batch_create(none, &batch));
        INVALID("space", unibuf_pool_reserve(unibuf_pool_shared(), 1, 8, none, NULL));
        native.where = none;
        INVALID("space", unibuf_native_address(&native, &pointer));
    }
    unibuf_space device = UNIBUF_NO_SPACE;
    CHECK_OK(unibuf_find_space("debug:0", &device));
    for (int number = -1; number <= 8; ++number) {
        unibuf_standing_options wrong = UNIBUF_STANDING_INIT;
        wrong.reopens = (unibuf_reopening)number;
        if (number != UNIBUF_REOPENS_AT_ONCE && number != UNIBUF_REOPENS_WHEN_TOLD) {
            INVALID("reopening", unibuf_bind(buffer, device, UNIBUF_READ, &wrong, &standing));
        }
        if (number == UNIBUF_READ || number == UNIBUF_READ_WRITE) continue;
        INVALID(number == UNIBUF_WRITE ? "read_write" : "access",
                unibuf_bind(buffer, device, (unibuf_access)number, NULL, &standing));
    }
    INVALID("host", unibuf_bind(buffer, UNIBUF_HOST, UNIBUF_READ, NULL, &standing));
    CHECK(standing == (void*)0x10);
    CHECK(held == (void*)0x10 && fence == (void*)0x10 && batch == (void*)0x10 && pointer == &lease);

    unibuf_access_options late = UNIBUF_ACCESS_INIT;
    for (int i = 0; i < 2; ++i) {
        late.timeout_ns = i == 0 ? -1 : INT64_MIN;
        INVALID("timeout", unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_READ, &late, &lease));
        INVALID("timeout", unibuf_mark_dirty(buffer, UNIBUF_HOST, &late));
        INVALID("timeout", unibuf_prefetch(buffer, UNIBUF_HOST, &late));
        CHECK_OK(unibuf_record_fence(UNIBUF_HOST, NULL, &fence));
        INVALID("timeout", unibuf_fence_wait(fence, late.timeout_ns));
        unibuf_standing_options late_hold = UNIBUF_STANDING_INIT;
        late_hold.timeout_ns = late.timeout_ns;
        INVALID("timeout", unibuf_bind(buffer, device, UNIBUF_READ, &late_hold, &standing));
        unibuf_fence_destroy(fence);
    }

    unibuf_access_options lost = UNIBUF_ACCESS_INIT;
    lost.queue = &lost;
    for (int i = 0; i < 2; ++i) {
        const unibuf_space where = i == 0 ? UNIBUF_HOST : device;
        INVALID("queue", unibuf_acquire(buffer, where, UNIBUF_READ, &lost, &lease));
        INVALID("queue", unibuf_mark_dirty(buffer, where, &lost));
        INVALID("queue", unibuf_prefetch(buffer, where, &lost));
        INVALID("queue", unibuf_record_fence(where, &lost, &fence));
    }
    unibuf_standing_options lost_hold = UNIBUF_STANDING_INIT;
    lost_hold.queue = &lost;
    INVALID("queue", unibuf_bind(buffer, device, UNIBUF_READ, &lost_hold, &standing));
}

void bad_ranges(unibuf_buffer* buffer) {
    static const struct {
        size_t offset;
        size_t count;
    } outside[] = {{0, size + 1},     {size, 1},
                   {size + 1, 0},     {size + 1, UNIBUF_REST},
                   {1, SIZE_MAX - 1}, {SIZE_MAX, UNIBUF_REST},
                   {SIZE_MAX, 1},     {SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 1}};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; ++i) {
        const size_t offset = outside[i].offset;
        const size_t count = outside[i].count;
        unibuf_access_options range = UNIBUF_ACCESS_INIT;
        range.offset = offset;
        range.size = count;
        unibuf_lease lease;
        unibuf_buffer* view = no_buffer;
        unibuf_held* held = (void*)0x10;
        char data[1] = {'x'};
        OUTSIDE("of 1000 bytes", unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_READ, &range, &lease));
        OUTSIDE("of 1000 bytes", unibuf_view(buffer, offset, count, &view));
        OUTSIDE("of 1000 bytes", unibuf_hold(buffer, UNIBUF_HOST, offset, count, &held));
        unibuf_standing_options part = UNIBUF_STANDING_INIT;
        part.offset = offset;
        part.size = count;
        unibuf_standing_hold* standing = (void*)0x10;
        OUTSIDE("of 1000 bytes", unibuf_bind(buffer, UNIBUF_HOST, UNIBUF_READ, &part, &standing));
        CHECK(standing == (void*)0x10);
        OUTSIDE("of 1000 bytes", unibuf_sync_to_host(buffer, offset, count));
        OUTSIDE("of 1000 bytes", unibuf_sync_to_device(buffer, offset, count));
        OUTSIDE("of 1000 bytes", unibuf_mark_host_dirty(buffer, offset, count));
        OUTSIDE("of 1000 bytes", unibuf_mark_device_dirty(buffer, offset, count));
        OUTSIDE("of 1000 bytes", unibuf_mark_dirty(buffer, UNIBUF_HOST, &range));
        OUTSIDE("of 1000 bytes", unibuf_prefetch(buffer, UNIBUF_HOST, &range));
        OUTSIDE("of 1000 bytes", unibuf_copy_from(buffer, data, count, offset));
        OUTSIDE("of 1000 bytes", unibuf_copy_to(buffer, data, count, offset));
        CHECK(view == no_buffer && held == (void*)0x10 && data[0] == 'x');
    }
    INVALID("divide", unibuf_fill(buffer, "abc", 3));
    INVALID("divide", unibuf_fill(buffer, "abc", SIZE_MAX));
    INVALID("divide", unibuf_fill(buffer, NULL, 0));

    // UNIBUF_REST means what the handle has from the offset on, in copies too.
    char before[size];
    char after[size + 1] = {0};
    CHECK_OK(unibuf_copy_to(buffer, before, UNIBUF_REST, 0));
    CHECK_OK(unibuf_copy_from(buffer, before + 10, UNIBUF_REST, 10));
    CHECK_OK(unibuf_copy_to(buffer, after + 10, UNIBUF_REST, 10));
    CHECK(memcmp(before + 10, after + 10, size - 10) == 0 && after[9] == 0 && after[size] == 0);
    CHECK_OK(unibuf_copy_to(buffer, NULL, UNIBUF_REST, size));
}

void nothing_asked(unibuf_buffer* buffer) {
    const unibuf_access_options zeros = {0};
    const unibuf_standing_options zero_hold = {0};
    unibuf_lease lease;
    unibuf_standing_hold* standing = (void*)0x10;
    unibuf_held* held = (void*)0x10;
    INVALID("UNIBUF_ACCESS_INIT", unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_READ, &zeros, &lease));
    CHECK(lease.data == NULL && lease.reserved[0] == 0);
    const unibuf_wanted_lease wanted = {buffer, UNIBUF_HOST, UNIBUF_READ, &zeros};
    INVALID("UNIBUF_ACCESS_INIT", unibuf_acquire_together(&wanted, 1, &lease));
    INVALID("UNIBUF_ACCESS_INIT", unibuf_mark_dirty(buffer, UNIBUF_HOST, &zeros));
    INVALID("UNIBUF_ACCESS_INIT", unibuf_prefetch(buffer, UNIBUF_HOST, &zeros));
    INVALID("UNIBUF_ACCESS_INIT", unibuf_capture_upload(buffer, UNIBUF_HOST, &zeros, &held));
    INVALID("UNIBUF_STANDING_INIT", unibuf_bind(buffer, UNIBUF_HOST, UNIBUF_READ, &zero_hold, &standing));
    CHECK(standing == (void*)0x10 && held == (void*)0x10);

    // No bytes are all there are: in an empty buffer, and behind the last byte.
    unibuf_access_options end = UNIBUF_ACCESS_INIT;
    end.offset = size;
    end.size = 0;
    CHECK_OK(unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_READ, &end, &lease));
    unibuf_release(&lease);
    unibuf_buffer* empty = NULL;
    CHECK_OK(unibuf_create(0, NULL, &empty));
    CHECK_OK(unibuf_acquire(empty, UNIBUF_HOST, UNIBUF_READ, &zeros, &lease));
    unibuf_release(&lease);
    unibuf_destroy(empty);
}

void bad_collections(unibuf_buffer* buffer) {
    unibuf_buffer* got = no_buffer;
    unibuf_pool_statistics statistics = {.hits = 77};
    INVALID("place", unibuf_pool_create(NULL));
    INVALID("pool", unibuf_pool_acquire(NULL, size, NULL, &got));
    INVALID("pool", unibuf_pool_release(NULL, buffer));
    INVALID("pool", unibuf_pool_reserve(NULL, 1, size, UNIBUF_HOST, NULL));
    INVALID("pool", unibuf_pool_trim(NULL, 0));
    INVALID("pool", unibuf_pool_limit(NULL, 0));
    INVALID("pool", unibuf_pool_statistics_of(NULL, &statistics));
    INVALID("place", unibuf_pool_statistics_of(unibuf_pool_shared(), NULL));
    INVALID("", unibuf_pool_release(unibuf_pool_shared(), buffer));  // the buffer is not of this pool
    CHECK_STATUS(UNIBUF_OUT_OF_MEMORY, unibuf_pool_reserve(unibuf_pool_shared(), SIZE_MAX, 8, UNIBUF_HOST, NULL));
    CHECK(got == no_buffer && statistics.hits == 77);

    unibuf_batch* batch = NULL;
    INVALID("place", unibuf_batch_create(UNIBUF_HOST, NULL));
    CHECK_OK(unibuf_batch_create(UNIBUF_HOST, &batch));
    INVALID("batch", unibuf_batch_write(NULL, buffer, "x", 1, 0));
    INVALID("buffer", unibuf_batch_write(batch, NULL, "x", 1, 0));
    INVALID("data", unibuf_batch_write(batch, buffer, NULL, 1, 0));
    OUTSIDE("of 1000 bytes", unibuf_batch_write(batch, buffer, "x", 1, size));
    OUTSIDE("of 1000 bytes", unibuf_batch_write(batch, buffer, "x", UNIBUF_REST, SIZE_MAX));
    INVALID("batch", unibuf_batch_sync(NULL, buffer));
    INVALID("buffer", unibuf_batch_sync(batch, NULL));
    INVALID("batch", unibuf_batch_submit(NULL));
    CHECK_OK(unibuf_batch_write(batch, buffer, NULL, 0, 0));
    CHECK_OK(unibuf_batch_submit(batch));
    unibuf_batch_destroy(batch);

    unibuf_lease leases[2];
    memset(leases, 0xEE, sizeof leases);
    unibuf_wanted_lease wanted[2] = {{buffer, UNIBUF_HOST, UNIBUF_READ, NULL}, {NULL, UNIBUF_HOST, UNIBUF_READ, NULL}};
    INVALID("list", unibuf_acquire_together(NULL, 2, leases));
    CHECK(leases[0].reserved[0] == 0 && leases[1].reserved[0] == 0);
    INVALID("place", unibuf_acquire_together(wanted, 2, NULL));
    memset(leases, 0xEE, sizeof leases);
    INVALID("buffer", unibuf_acquire_together(wanted, 2, leases));
    CHECK(leases[0].reserved[0] == 0 && leases[1].reserved[0] == 0);
    wanted[1].buffer = buffer;
    wanted[1].access = (unibuf_access)0;
    INVALID("access", unibuf_acquire_together(wanted, 2, leases));
    wanted[1].access = UNIBUF_WRITE;
    CHECK_STATUS(UNIBUF_ACCESS_CONFLICT, unibuf_acquire_together(wanted, 2, leases));
    CHECK_OK(unibuf_acquire_together(wanted, 1, leases));
    unibuf_release(&leases[0]);
}
