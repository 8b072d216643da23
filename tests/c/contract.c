// contract.c SPACE: every part of the contract at that space; skipped, with the reason, where it is not there.
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

unibuf_buffer* made(size_t bytes, unibuf_space where, unibuf_memory_hint hint) {
    unibuf_options options = UNIBUF_OPTIONS_INIT;
    options.hint = hint;
    options.device = where;
    unibuf_buffer* buffer = NULL;
    CHECK_OK(unibuf_create(bytes, &options, &buffer));
    return buffer;
}

unsigned char noise_at(size_t offset, unsigned seed) {
    const uint32_t mixed = ((uint32_t)offset + 1U) * 2654435761U ^ seed * 2246822519U;
    return (unsigned char)(mixed >> 13 ^ mixed);
}

void host_writes(unibuf_buffer* buffer, unsigned seed) {
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_WRITE, NULL, &lease));
    unsigned char* const bytes = lease.data;
    for (size_t i = 0; i < lease.native.size; ++i) bytes[i] = noise_at(i, seed);
    unibuf_release(&lease);
}

bool is_noise(const void* data, size_t offset, size_t size, unsigned seed) {
    const unsigned char* const bytes = data;
    for (size_t i = 0; i < size; ++i) {
        if (bytes[i] != noise_at(offset + i, seed)) return false;
    }
    return true;
}

static unsigned char* copied(unibuf_buffer* buffer) {
    unsigned char* const bytes = malloc(unibuf_size(buffer));
    CHECK(bytes != NULL);
    CHECK_OK(unibuf_copy_to(buffer, bytes, unibuf_size(buffer), 0));
    return bytes;
}

bool host_reads_noise(unibuf_buffer* buffer, unsigned seed) {
    unsigned char* const bytes = copied(buffer);
    const bool same = is_noise(bytes, 0, unibuf_size(buffer), seed);
    free(bytes);
    return same;
}

bool host_reads(unibuf_buffer* buffer, unsigned char each) {
    unsigned char* const bytes = copied(buffer);
    bool same = true;
    for (size_t i = 0; i < unibuf_size(buffer); ++i) same = same && bytes[i] == each;
    free(bytes);
    return same;
}

bool device_has_noise(unibuf_buffer* buffer, unibuf_space where, unsigned seed) {
    unibuf_lease at_host;
    CHECK_OK(unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_READ, NULL, &at_host));
    unsigned char* const stale = at_host.data;
    unibuf_release(&at_host);
    touch(buffer, where, UNIBUF_READ, 0, UNIBUF_REST);
    CHECK_OK(unibuf_mark_dirty(buffer, where, NULL));
    if (where != UNIBUF_HOST && !is_shared(buffer, where)) memset(stale, 0x5A, unibuf_size(buffer));
    return host_reads_noise(buffer, seed);
}

void device_fills(unibuf_buffer* buffer, unibuf_space where, unsigned char each) {
    touch(buffer, where, UNIBUF_READ, 0, UNIBUF_REST);
    CHECK_OK(unibuf_mark_dirty(buffer, where, NULL));
    CHECK_OK(unibuf_fill(buffer, &each, 1));
}

void touch(unibuf_buffer* buffer, unibuf_space where, unibuf_access access, size_t offset, size_t size) {
    unibuf_access_options options = UNIBUF_ACCESS_INIT;
    options.offset = offset;
    options.size = size;
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(buffer, where, access, &options, &lease));
    unibuf_release(&lease);
}

unibuf_buffer_state state_of(const unibuf_buffer* buffer) {
    unibuf_buffer_state state = UNIBUF_MIXED;
    CHECK_OK(unibuf_state(buffer, &state));
    return state;
}

uint64_t bytes_moved(const unibuf_buffer* buffer) {
    unibuf_statistics statistics;
    CHECK_OK(unibuf_statistics_of(buffer, &statistics));
    return statistics.bytes_moved;
}

bool is_shared(const unibuf_buffer* buffer, unibuf_space where) {
    unibuf_placement placement;
    CHECK_OK(unibuf_placement_at(buffer, where, &placement));
    return placement.shared;
}

int main(int argc, char** argv) {
    if (argc != 2) {
        fprintf(stderr, "contract SPACE\n");
        return 2;
    }
    unibuf_space where = UNIBUF_NO_SPACE;
    const unibuf_status found = unibuf_find_space(argv[1], &where);
    if (found == UNIBUF_DEVICE_UNAVAILABLE) skip(unibuf_message());
    CHECK_OK(found);
    CHECK(strcmp(unibuf_space_name(where), argv[1]) == 0);
    CHECK_OK(unibuf_set_default_device(where));
    unibuf_space device = UNIBUF_NO_SPACE;
    CHECK_OK(unibuf_default_device(&device));
    CHECK(device == where);

    RUN(contract_of_options(where));
    RUN(contract_of_leases(where));
    RUN(contract_of_one_thread(where));
    RUN(contract_of_leases_together(where));
    RUN(contract_of_raw_access(where));
    RUN(contract_of_states(where));
    RUN(contract_of_ranges(where));
    RUN(contract_of_content(where));
    RUN(contract_of_views(where));
    RUN(contract_of_rectangles(where));
    RUN(contract_of_statistics(where));
    RUN(contract_of_causes(where));
    RUN(contract_of_guards(where));
    RUN(contract_of_traces(where));
    RUN(contract_of_memory(where));
    RUN(contract_of_devices(where));
    RUN(contract_of_callers_memory(where));
    RUN(contract_of_held_copies(where));
    RUN(contract_of_holders(where));
    RUN(contract_of_pools(where));
    RUN(contract_of_batches(where));
    RUN(contract_of_fences(where));
    RUN(contract_of_events(where));
    RUN(contract_of_names(where));
    RUN(contract_of_native_handles(where));
    return 0;
}
