// tests/c/contract_figures.c: what a program can ask: what moved, and why; where copies are; what memory is held.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "contract.h"

void contract_of_statistics(unibuf_space where) {
    const bool device = where != UNIBUF_HOST;
    CHECK_OK(unibuf_reset_statistics());
    unibuf_statistics total;
    CHECK_OK(unibuf_statistics_of(NULL, &total));
    CHECK(total.transfers == 0 && total.bytes_moved == 0 && total.fence_waits == 0);

    unibuf_buffer* const mirrored = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    host_writes(mirrored, 1);
    touch(mirrored, where, UNIBUF_READ, 0, UNIBUF_REST);
    touch(mirrored, where, UNIBUF_READ, 0, UNIBUF_REST);
    unibuf_statistics own;
    CHECK_OK(unibuf_statistics_of(mirrored, &own));
    CHECK(own.transfers == (device ? 1 : 0) && own.bytes_moved == (device ? some_bytes : 0));
    CHECK_OK(unibuf_statistics_of(NULL, &total));
    CHECK(total.transfers == own.transfers && total.bytes_moved == own.bytes_moved);

    unibuf_buffer* const shared = made(some_bytes, where, UNIBUF_HINT_COHERENT);
    host_writes(shared, 1);
    touch(shared, where, UNIBUF_READ_WRITE, 0, UNIBUF_REST);
    touch(shared, UNIBUF_HOST, UNIBUF_READ, 0, UNIBUF_REST);
    CHECK_OK(unibuf_statistics_of(shared, &own));
    if (device && is_shared(shared, where)) CHECK(own.bytes_moved == 0 && own.publications > 0);
    if (device && !is_shared(shared, where)) CHECK(own.bytes_moved == 2 * some_bytes);
    unibuf_destroy(mirrored);
    unibuf_destroy(shared);
}

enum { most_seen = 32 };

struct seen {
    int count;
    unibuf_transfer made[most_seen];
};

static void see(void* context, const unibuf_transfer* made_now) {
    struct seen* const all = context;
    if (all->count < most_seen) all->made[all->count++] = *made_now;
}

/// Checks that the last transfer that the observer saw was this one.
static void check_seen(struct seen* all, unibuf_buffer* buffer, unibuf_space from, unibuf_space to,
                       unibuf_cause cause) {
    CHECK(all->count > 0);
    const unibuf_transfer last = all->made[all->count - 1];
    CHECK(last.buffer == unibuf_id(buffer));
    CHECK(last.from == from && last.to == to && last.cause == cause);
    CHECK(last.offset == 0 && last.size == some_bytes);
    CHECK(last.begin_ns > 0 && last.end_ns >= last.begin_ns);
    all->count = 0;
}

/// Returns how many transfers there were of one kind.
static uint64_t counted(const unibuf_buffer* buffer, unibuf_space from, unibuf_space to, unibuf_cause cause) {
    unibuf_transfer_count kinds[most_seen];
    size_t count = 0;
    CHECK_OK(unibuf_transfers_of(buffer, kinds, most_seen, &count));
    CHECK(count <= most_seen);
    for (size_t i = 0; i < count; ++i) {
        if (kinds[i].from != from || kinds[i].to != to || kinds[i].cause != cause) continue;
        CHECK(kinds[i].bytes == kinds[i].transfers * some_bytes);
        return kinds[i].transfers;
    }
    return 0;
}

void contract_of_guards(unibuf_space where) {
    if (where == UNIBUF_HOST) return;  // nothing ever moves
    unibuf_buffer* const buffer = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    host_writes(buffer, 1);
    unibuf_budget* all = NULL;
    unibuf_guard* quiet = NULL;
    CHECK_OK(unibuf_budget_begin(some_bytes - 1, UNIBUF_HOST, UNIBUF_NO_SPACE, &all));
    CHECK_OK(unibuf_guard_begin(UNIBUF_GUARD_REFUSE, UNIBUF_NO_SPACE, where, &quiet));
    unibuf_native native;
    CHECK(unibuf_device(buffer, &native) == UNIBUF_ACCESS_CONFLICT);
    CHECK(strstr(unibuf_message(), "a guard refuses") != NULL);
    uint64_t moved = 99;
    CHECK_OK(unibuf_budget_check(all, &moved));
    CHECK(moved == 0);
    unibuf_guard_end(quiet);
    CHECK_OK(unibuf_device(buffer, &native));
    CHECK(unibuf_budget_check(all, &moved) == UNIBUF_ACCESS_CONFLICT);
    CHECK(moved == some_bytes);
    CHECK(strstr(unibuf_message(), "for device_handle") != NULL);
    unibuf_budget_end(all);
    CHECK(unibuf_guard_begin(3, UNIBUF_HOST, where, &quiet) == UNIBUF_INVALID_ARGUMENT);
    CHECK(unibuf_guard_begin(UNIBUF_GUARD_LOG, 77, where, &quiet) == UNIBUF_INVALID_ARGUMENT);
    CHECK(unibuf_guard_begin(UNIBUF_GUARD_LOG, UNIBUF_HOST, where, NULL) == UNIBUF_INVALID_ARGUMENT);
    CHECK(unibuf_budget_check(NULL, &moved) == UNIBUF_INVALID_ARGUMENT);
    unibuf_destroy(buffer);
}

void contract_of_traces(unibuf_space where) {
    char file[128];
    snprintf(file, sizeof file, "unibuf_c_%d_%d.trace", (int)getpid(), (int)where);
    unibuf_buffer* const buffer = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    unibuf_traffic before, after;
    CHECK_OK(unibuf_recorded_traffic(&before));
    CHECK_OK(unibuf_trace_begin(file, true));
    CHECK(unibuf_trace_begin(file, false) == UNIBUF_INVALID_ARGUMENT);
    host_writes(buffer, 1);
    touch(buffer, where, UNIBUF_READ, 0, UNIBUF_REST);
    unibuf_trace_end();
    FILE* const written = fopen(file, "rb");
    CHECK(written != NULL && fseek(written, 0, SEEK_END) == 0 && ftell(written) > 0);
    if (written) fclose(written);
    remove(file);

    const char* text = NULL;
    CHECK_OK(unibuf_why(buffer, &text));
    CHECK(strstr(text, "was to write bytes [0, ") != NULL);
    CHECK(text[strlen(text) - 1] == '\n');
    if (where != UNIBUF_HOST) {
        CHECK(strstr(text, "from host to ") != NULL);
        CHECK_OK(unibuf_recorded_traffic(&after));
        CHECK(after.moved == before.moved + some_bytes);
        CHECK(after.least <= after.moved);
    }
    CHECK(unibuf_trace_begin(NULL, false) == UNIBUF_INVALID_ARGUMENT);
    CHECK(unibuf_trace_begin("/nonexistent/trace", false) == UNIBUF_INVALID_ARGUMENT);
    CHECK(unibuf_recorded_traffic(NULL) == UNIBUF_INVALID_ARGUMENT);
    CHECK(unibuf_why(buffer, NULL) == UNIBUF_INVALID_ARGUMENT);
    CHECK(unibuf_why(NULL, &text) == UNIBUF_INVALID_ARGUMENT);
    unibuf_destroy(buffer);
}

void contract_of_causes(unibuf_space where) {
    if (where == UNIBUF_HOST) return;  // nothing ever moves
    struct seen all = {.count = 0};
    CHECK_OK(unibuf_set_transfer_observer(see, &all));
    unibuf_buffer* const buffer = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    size_t kinds = 77;
    CHECK_OK(unibuf_transfers_of(buffer, NULL, 0, &kinds));
    CHECK(kinds == 0);

    host_writes(buffer, 1);
    touch(buffer, where, UNIBUF_READ, 0, UNIBUF_REST);
    check_seen(&all, buffer, UNIBUF_HOST, where, UNIBUF_CAUSE_READ);
    CHECK_OK(unibuf_mark_host_dirty(buffer, 0, UNIBUF_REST));
    touch(buffer, where, UNIBUF_READ_WRITE, 0, UNIBUF_REST);
    check_seen(&all, buffer, UNIBUF_HOST, where, UNIBUF_CAUSE_READ_WRITE);
    const void* host = NULL;
    CHECK_OK(unibuf_host_to_read(buffer, &host));
    check_seen(&all, buffer, where, UNIBUF_HOST, UNIBUF_CAUSE_HOST_POINTER);
    CHECK_OK(unibuf_mark_host_dirty(buffer, 0, UNIBUF_REST));
    unibuf_native native;
    CHECK_OK(unibuf_device(buffer, &native));
    check_seen(&all, buffer, UNIBUF_HOST, where, UNIBUF_CAUSE_DEVICE_HANDLE);
    CHECK_OK(unibuf_mark_device_dirty(buffer, 0, UNIBUF_REST));
    CHECK_OK(unibuf_sync_to_host(buffer, 0, UNIBUF_REST));
    check_seen(&all, buffer, where, UNIBUF_HOST, UNIBUF_CAUSE_SYNC);
    CHECK_OK(unibuf_mark_host_dirty(buffer, 0, UNIBUF_REST));
    CHECK_OK(unibuf_prefetch(buffer, where, NULL));
    check_seen(&all, buffer, UNIBUF_HOST, where, UNIBUF_CAUSE_PREFETCH);
    CHECK_OK(unibuf_mark_device_dirty(buffer, 0, UNIBUF_REST));
    CHECK(host_reads_noise(buffer, 1));
    check_seen(&all, buffer, where, UNIBUF_HOST, UNIBUF_CAUSE_COPY_TO);

    CHECK(counted(buffer, UNIBUF_HOST, where, UNIBUF_CAUSE_READ) == 1);
    CHECK(counted(buffer, UNIBUF_HOST, where, UNIBUF_CAUSE_PREFETCH) == 1);
    CHECK(counted(buffer, where, UNIBUF_HOST, UNIBUF_CAUSE_COPY_TO) == 1);
    CHECK(counted(buffer, where, UNIBUF_HOST, UNIBUF_CAUSE_READ) == 0);
    CHECK(counted(NULL, UNIBUF_HOST, where, UNIBUF_CAUSE_DEVICE_HANDLE) >= 1);
    // As many kinds as there is room for are written, and all are counted.
    unibuf_transfer_count few[2] = {{.transfers = 99}, {.transfers = 99}};
    CHECK_OK(unibuf_transfers_of(buffer, few, 1, &kinds));
    CHECK(kinds == 7 && few[0].transfers == 1 && few[1].transfers == 99);

    // Without an observer, nobody is told of transfers.
    CHECK_OK(unibuf_set_transfer_observer(NULL, NULL));
    CHECK_OK(unibuf_mark_host_dirty(buffer, 0, UNIBUF_REST));
    touch(buffer, where, UNIBUF_READ, 0, UNIBUF_REST);
    CHECK(all.count == 0);
    unibuf_destroy(buffer);
}

void contract_of_memory(unibuf_space where) {
    uint64_t held_before = 0;
    uint64_t peak_before = 0;
    unibuf_memory_held(&held_before, &peak_before);
    unibuf_memory before;
    CHECK_OK(unibuf_memory_of(where, &before));
    CHECK(before.limit == UNIBUF_NO_LIMIT);
    unibuf_reset_peak_memory();

    unibuf_buffer* const first = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    unibuf_buffer* const second = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    touch(first, where, UNIBUF_WRITE, 0, UNIBUF_REST);
    unibuf_memory now;
    CHECK_OK(unibuf_memory_of(where, &now));
    CHECK(now.held == before.held + some_bytes && now.peak == now.held);
    CHECK(now.total >= before.held && (now.free == UNIBUF_UNKNOWN || now.free <= now.total));
    uint64_t held = 0;
    uint64_t peak = 0;
    unibuf_memory_held(&held, &peak);
    CHECK(held == held_before + some_bytes && peak == held);
    unibuf_memory_held(NULL, NULL);

    CHECK_OK(unibuf_limit_memory(where, now.held + some_bytes - 1));
    CHECK_OK(unibuf_memory_of(where, &now));
    CHECK(now.limit == before.held + 2 * some_bytes - 1);
    if (where == UNIBUF_HOST) {  // the host's copy has nowhere to go
        unibuf_lease lease;
        CHECK_REFUSED(UNIBUF_OUT_OF_MEMORY, "limit", unibuf_acquire(second, where, UNIBUF_WRITE, NULL, &lease));
        CHECK(state_of(second) == UNIBUF_UNINITIALIZED);
    } else {
        device_fills(first, where, 5);
        touch(second, where, UNIBUF_WRITE, 0, UNIBUF_REST);  // the first buffer's copy makes room
        unibuf_statistics statistics;
        CHECK_OK(unibuf_statistics_of(first, &statistics));
        CHECK(statistics.evictions == 1);
        CHECK(host_reads(first, 5));
    }
    CHECK_OK(unibuf_limit_memory(where, UNIBUF_NO_LIMIT));
    unibuf_destroy(first);
    unibuf_destroy(second);
    CHECK_OK(unibuf_trim_memory(where));
    unibuf_memory_held(&held, NULL);
    CHECK(held == held_before);
}

void contract_of_devices(unibuf_space where) {
    unibuf_devices* devices = NULL;
    CHECK_OK(unibuf_devices_list(&devices));
    CHECK(unibuf_devices_count(devices) >= 2);  // the host and the debug device
    bool found = false;
    for (size_t i = 0; i < unibuf_devices_count(devices); ++i) {
        unibuf_device_info info;
        CHECK_OK(unibuf_devices_get(devices, i, &info));
        CHECK(info.available == (strlen(info.reason) == 0));
        for (size_t j = 0; j < info.property_count; ++j) {
            CHECK(strlen(info.properties[j].name) > 0 && info.properties[j].value != NULL);
        }
        if (strcmp(info.name, unibuf_space_name(where)) != 0) continue;
        found = true;
        CHECK(info.available && strlen(info.description) > 0);
        unibuf_memory memory;
        CHECK_OK(unibuf_memory_of(where, &memory));
        CHECK(memory.total == info.memory_bytes);
        if (where == UNIBUF_HOST) CHECK(!info.asynchronous);
    }
    CHECK(found);
    unibuf_devices_destroy(devices);
}
