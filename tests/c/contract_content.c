// tests/c/contract_content.c: which side is newest, and the verbs that move bytes.
#include <string.h>

#include "check.h"
#include "contract.h"

/// Checks the state of a buffer without copies. tests/support/state_story.cpp plays how states move, on this API too.
void contract_of_states(unibuf_space where) {
    unibuf_buffer* const buffer = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    CHECK(state_of(buffer) == UNIBUF_UNINITIALIZED);
    CHECK_REFUSED(UNIBUF_NOT_ALLOCATED, "buffer", unibuf_sync_to_host(buffer, 0, UNIBUF_REST));
    CHECK_STATUS(UNIBUF_NOT_ALLOCATED, unibuf_sync_to_device(buffer, 0, UNIBUF_REST));
    CHECK_STATUS(UNIBUF_NOT_ALLOCATED, unibuf_mark_host_dirty(buffer, 0, UNIBUF_REST));
    CHECK_STATUS(UNIBUF_NOT_ALLOCATED, unibuf_mark_device_dirty(buffer, 0, UNIBUF_REST));
    CHECK_STATUS(UNIBUF_NOT_ALLOCATED, unibuf_mark_dirty(buffer, where, NULL));
    CHECK(state_of(buffer) == UNIBUF_UNINITIALIZED);
    touch(buffer, UNIBUF_HOST, UNIBUF_READ, 0, UNIBUF_REST);
    CHECK(state_of(buffer) == UNIBUF_HOST_ONLY);
    unibuf_destroy(buffer);

    if (where == UNIBUF_HOST) return;
    unibuf_buffer* const there = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    touch(there, where, UNIBUF_READ, 0, UNIBUF_REST);
    CHECK(state_of(there) == UNIBUF_DEVICE_ONLY);
    CHECK_STATUS(UNIBUF_NOT_ALLOCATED, unibuf_mark_host_dirty(there, 0, UNIBUF_REST));
    unibuf_destroy(there);
}

void contract_of_ranges(unibuf_space where) {
    unibuf_buffer* const buffer = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    host_writes(buffer, 1);
    CHECK_OK(unibuf_sync_to_device(buffer, 0, 1000));
    uint64_t moved = where == UNIBUF_HOST ? 0 : 1000;
    CHECK(bytes_moved(buffer) == moved);
    CHECK_OK(unibuf_sync_to_device(buffer, 0, UNIBUF_REST));
    moved = where == UNIBUF_HOST ? 0 : some_bytes;
    CHECK(bytes_moved(buffer) == moved);

    CHECK_OK(unibuf_mark_host_dirty(buffer, 5001, 77));
    touch(buffer, where, UNIBUF_READ, 0, UNIBUF_REST);
    moved += where == UNIBUF_HOST ? 0 : 77;
    CHECK(bytes_moved(buffer) == moved);

    CHECK_OK(unibuf_mark_device_dirty(buffer, 5000, 79));
    CHECK_OK(unibuf_sync_to_host(buffer, 5000, 9));
    moved += where == UNIBUF_HOST ? 0 : 9;
    CHECK(bytes_moved(buffer) == moved);
    CHECK(host_reads_noise(buffer, 1));
    moved += where == UNIBUF_HOST ? 0 : 70;
    CHECK(bytes_moved(buffer) == moved);

    unibuf_access_options part = UNIBUF_ACCESS_INIT;
    part.offset = 100;
    part.size = 5;
    CHECK_OK(unibuf_mark_dirty(buffer, UNIBUF_HOST, &part));
    part.size = UNIBUF_REST;
    CHECK_OK(unibuf_prefetch(buffer, where, &part));
    touch(buffer, where, UNIBUF_READ, 0, UNIBUF_REST);
    moved += where == UNIBUF_HOST ? 0 : 5;
    CHECK(bytes_moved(buffer) == moved);

    host_writes(buffer, 4);
    CHECK_OK(unibuf_prefetch(buffer, where, NULL));
    CHECK(device_has_noise(buffer, where, 4));
    unibuf_destroy(buffer);
}

void contract_of_content(unibuf_space where) {
    unibuf_buffer* const buffer = made(some_bytes - 3, where, UNIBUF_HINT_GPU_PREFERRED);
    const uint32_t pattern = 0x04030201U;
    CHECK_OK(unibuf_fill(buffer, &pattern, sizeof pattern));
    unsigned char got[8] = {0};
    CHECK_OK(unibuf_copy_to(buffer, got, 8, 2));
    CHECK(memcmp(got, "\3\4\1\2\3\4\1\2", 8) == 0);

    // The fill is done at the device, where the copy is newest, so nothing is fetched.
    device_fills(buffer, where, 9);
    const uint64_t moved = bytes_moved(buffer);
    CHECK_OK(unibuf_fill(buffer, "ab", 2));
    CHECK(bytes_moved(buffer) == moved);
    CHECK_OK(unibuf_copy_from(buffer, "XYZ", 3, 1));
    CHECK_OK(unibuf_copy_to(buffer, got, 6, 0));
    CHECK(memcmp(got, "aXYZab", 6) == 0);
    CHECK_OK(unibuf_copy_from(buffer, NULL, 0, 0));

    if (where != UNIBUF_HOST) {
        device_fills(buffer, where, 7);
        CHECK_REFUSED(UNIBUF_ACCESS_CONFLICT, unibuf_space_name(where), unibuf_discard(buffer, where));
        CHECK_OK(unibuf_sync_to_host(buffer, 0, UNIBUF_REST));
        CHECK_OK(unibuf_discard(buffer, where));
        unibuf_placement placement = {0};
        CHECK_STATUS(UNIBUF_NOT_ALLOCATED, unibuf_placement_at(buffer, where, &placement));
        CHECK(host_reads(buffer, 7));
    }
    CHECK_OK(unibuf_discard_content(buffer));
    CHECK(host_reads(buffer, 0));
    unibuf_destroy(buffer);
}

void contract_of_views(unibuf_space where) {
    unibuf_buffer* const whole = made(some_bytes, where, UNIBUF_HINT_NONE);
    host_writes(whole, 1);
    unibuf_buffer* view = NULL;
    CHECK_OK(unibuf_view(whole, 1000, 5000, &view));
    CHECK(unibuf_size(view) == 5000 && unibuf_id(view) == unibuf_id(whole));
    unibuf_buffer* inner = NULL;
    CHECK_OK(unibuf_view(view, 100, UNIBUF_REST, &inner));
    CHECK(unibuf_size(inner) == 4900);
    unsigned char got[10];
    CHECK_OK(unibuf_copy_to(inner, got, 10, 20));
    CHECK(is_noise(got, 1120, 10, 1));

    device_fills(view, where, 6);
    CHECK_OK(unibuf_copy_to(whole, got, 10, 995));
    CHECK(is_noise(got, 995, 5, 1) && got[5] == 6 && got[9] == 6);
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(inner, where, UNIBUF_READ, NULL, &lease));
    CHECK(lease.native.size == 4900 && (lease.native.offset == 1100 || where == UNIBUF_HOST));
    CHECK_REFUSED(UNIBUF_ACCESS_CONFLICT, "read", unibuf_copy_from(whole, "x", 1, 1100));
    unibuf_release(&lease);

    // The buffer lives as long as one handle does.
    unibuf_destroy(whole);
    unibuf_destroy(view);
    CHECK(host_reads(inner, 6));
    unibuf_destroy(inner);
}

void contract_of_rectangles(unibuf_space where) {
    enum { rows = 50, columns = 40, first = 3, last = 7, count = rows * (last - first) };
    static const size_t extents[] = {rows, columns};
    static const size_t begin[] = {0, first};
    static const size_t end[] = {rows, last};
    unibuf_buffer* const whole = made(rows * columns * sizeof(float), where, UNIBUF_HINT_NONE);
    host_writes(whole, 1);
    touch(whole, where, UNIBUF_READ, 0, UNIBUF_REST);
    unibuf_buffer* part = NULL;
    CHECK_OK(unibuf_view_rect(whole, sizeof(float), 2, extents, begin, end, &part));
    CHECK(unibuf_size(part) == count * sizeof(float) && unibuf_id(part) == unibuf_id(whole));

    // Its bytes are packed and unpacked in row-major order.
    float data[count];
    for (size_t i = 0; i < count; ++i) data[i] = (float)i;
    CHECK_OK(unibuf_copy_from(part, data, sizeof data, 0));
    const uint64_t before = bytes_moved(whole);
    touch(part, where, UNIBUF_READ, 0, UNIBUF_REST);
    CHECK(bytes_moved(whole) - before == (is_shared(whole, where) || where == UNIBUF_HOST ? 0 : sizeof data));
    touch(whole, where, UNIBUF_READ_WRITE, 0, UNIBUF_REST);  // the device has the newest of all
    float got[rows * columns];
    CHECK_OK(unibuf_copy_to(whole, got, sizeof got, 0));
    for (size_t row = 0; row < rows; ++row) {
        CHECK(got[row * columns + first] == (float)(row * (last - first)));
        CHECK(is_noise(&got[row * columns + last], (row * columns + last) * sizeof(float),
                       (columns - last) * sizeof(float), 1));
    }

    // Rectangles side by side exclude each other as little as they share a byte.
    static const size_t left[] = {0, 0};
    static const size_t left_end[] = {rows, first};
    unibuf_buffer* beside = NULL;
    CHECK_OK(unibuf_view_rect(whole, sizeof(float), 2, extents, left, left_end, &beside));
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(part, UNIBUF_HOST, UNIBUF_READ_WRITE, NULL, &lease));
    float* const first_row = lease.data;
    first_row[columns] = 100;  // the first column of the second row
    CHECK_OK(unibuf_copy_from(beside, data, rows * first * sizeof(float), 0));
    CHECK_REFUSED(UNIBUF_ACCESS_CONFLICT, "rows among bytes", unibuf_copy_from(whole, data, sizeof data, 0));
    unibuf_release(&lease);
    CHECK_OK(unibuf_copy_to(part, data, sizeof data, 0));
    CHECK(data[last - first] == 100);

    CHECK_REFUSED(UNIBUF_UNSUPPORTED, "as a whole", unibuf_copy_to(part, data, 4, 0));
    static const size_t beyond[] = {rows, columns + 1};
    unibuf_buffer* none = NULL;
    CHECK_REFUSED(UNIBUF_OUT_OF_RANGE, "along axis 1", unibuf_view_rect(whole, 4, 2, extents, begin, beyond, &none));
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "one index at least",
                  unibuf_view_rect(whole, 4, 2, extents, begin, left, &none));
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "elements of 8 bytes",
                  unibuf_view_rect(whole, 8, 2, extents, begin, end, &none));
    CHECK_REFUSED(UNIBUF_UNSUPPORTED, "a handle to a rectangle",
                  unibuf_view_rect(part, 4, 2, extents, begin, end, &none));
    CHECK(none == NULL);
    unibuf_destroy(beside);
    unibuf_destroy(part);
    unibuf_destroy(whole);
}
