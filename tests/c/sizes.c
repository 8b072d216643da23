// tests/c/sizes.c: sizes that nothing has, in every function that takes one, while other buffers hold memory at every
// space: each is refused at once, and no buffer is any other.
//
//   c_sizes         runs all trials, at each space that there is
//   c_sizes --list  prints the name of each trial, for tests/c/every_size.cmake
#include "sizes.h"

#include <stdio.h>
#include <string.h>

// Sizes whose sums and products wrap: 8 times the last but two is 1000.
static const size_t sizes[] = {SIZE_MAX,
                               SIZE_MAX - 1,
                               SIZE_MAX - 255,
                               SIZE_MAX / 2 + 1,
                               SIZE_MAX / 2,
                               SIZE_MAX / 4 + 1,
                               SIZE_MAX / 8 + 1 + small / 8,
                               SIZE_MAX / 8 + 1,
                               (size_t)1 << 32};
enum { size_count = sizeof sizes / sizeof sizes[0], most_spaces = 32 };

static unibuf_space spaces[most_spaces];
static unibuf_buffer* others[most_spaces];  // each is newest at its space
static int space_count;

static char expected(int of, int at) { return (char)(of * 31 + at % 97); }

static void find_spaces(void) {
    unibuf_devices* devices = NULL;
    CHECK_OK(unibuf_devices_list(&devices));
    for (size_t i = 0; i < unibuf_devices_count(devices); ++i) {
        unibuf_device_info info;
        CHECK_OK(unibuf_devices_get(devices, i, &info));
        if (info.available) CHECK_OK(unibuf_find_space(info.name, &spaces[space_count++]));
    }
    unibuf_devices_destroy(devices);
}

static unibuf_buffer* made(int which) {
    char content[small];
    for (int i = 0; i < small; ++i) content[i] = expected(which, i);
    unibuf_buffer* buffer = NULL;
    CHECK_OK(unibuf_create(small, NULL, &buffer));
    CHECK_OK(unibuf_copy_from_at(buffer, content, small, 0, spaces[which % space_count]));
    return buffer;
}

static const char* trying = "";  // the trial that is under way

static void check_content(unibuf_buffer* buffer, int which, unibuf_space where) {
    char content[small] = {0};
    CHECK_OK(unibuf_copy_to_at(buffer, content, small, 0, where));
    int wrong = 0;
    for (int i = 0; i < small; ++i) wrong += content[i] != expected(which, i);
    if (wrong != 0) fprintf(stderr, "after %s: %d bytes at %s are others\n", trying, wrong, unibuf_space_name(where));
    CHECK(wrong == 0);
}

static void try_all(const struct trial* what, int place) {
    trying = what->name;
    on.where = spaces[place];
    on.buffer = made(space_count + place);
    CHECK_OK(unibuf_set_default_device(on.where));
    for (int i = 0; i < size_count; ++i) {
        char content[small];
        CHECK_OK(
            unibuf_copy_to(on.buffer, content, small, 0));  // so that the copies at the host and at the space stand
        CHECK_OK(unibuf_sync_to_device(on.buffer, 0, UNIBUF_REST));
        const unibuf_status status = what->with(sizes[i]);
        const bool is_fine =
            (what->rest_is_meant && sizes[i] == UNIBUF_REST) || (what->is_of_memory && sizes[i] <= SIZE_MAX / 2 + 1);
        if (status != what->refused && !(is_fine && status == UNIBUF_OK)) {
            fprintf(stderr, "%s of %zu at %s is %s, and should be %s\n", what->name, sizes[i],
                    unibuf_space_name(on.where), unibuf_status_name(status), unibuf_status_name(what->refused));
        }
        CHECK(status == what->refused || (is_fine && status == UNIBUF_OK));
        for (int other = 0; other < space_count; ++other) check_content(others[other], other, spaces[other]);
        check_content(on.buffer, space_count + place, on.where);
        check_content(on.buffer, space_count + place, UNIBUF_HOST);
    }
    unibuf_destroy(on.buffer);
}

int main(int argc, char** argv) {
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < trial_count; ++i) printf("%s\n", trials[i].name);
        return 0;
    }
    find_spaces();
    for (int i = 0; i < space_count; ++i) others[i] = made(i);
    CHECK_OK(unibuf_pool_create(&on.pool));
    CHECK_OK(unibuf_batch_create(UNIBUF_HOST, &on.batch));
    for (int place = 0; place < space_count; ++place) {
        check_begin();
        for (size_t i = 0; i < trial_count; ++i) try_all(&trials[i], place);
        check_end(unibuf_space_name(spaces[place]));
    }
    for (int i = 0; i < space_count; ++i) {
        for (int at = 0; at < space_count; ++at) check_content(others[i], i, spaces[at]);
        unibuf_destroy(others[i]);
    }
    CHECK_OK(unibuf_batch_submit(on.batch));
    unibuf_batch_destroy(on.batch);
    unibuf_pool_destroy(on.pool);
    return 0;
}
