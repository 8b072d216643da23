// sharing.c: one buffer in two processes.
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { size = 10000 };

static int to_other[2];
static int from_other[2];

static void tell(int file, const void* what, size_t bytes) { CHECK(write(file, what, bytes) == (ssize_t)bytes); }
static void hear(int file, void* what, size_t bytes) { CHECK(read(file, what, bytes) == (ssize_t)bytes); }

static char first_of(unibuf_buffer* buffer) {
    char result = 0;
    CHECK_OK(unibuf_copy_to(buffer, &result, 1, 0));
    return result;
}

static void write_at(unibuf_buffer* buffer, unibuf_space where, int value) {
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(buffer, where, UNIBUF_WRITE, NULL, &lease));
    memset(lease.data, value, lease.native.size);
    unibuf_release(&lease);
}

static int other(void) {
    unibuf_shared_name name;
    unibuf_space device = UNIBUF_NO_SPACE;
    char done = 'x';
    CHECK(close(to_other[1]) == 0);  // so that it hears when the first process has failed
    hear(to_other[0], &name, sizeof name);
    CHECK_OK(unibuf_find_space("debug:0", &device));
    static unibuf_buffer* buffer = NULL;  // ends with the process
    CHECK_OK(unibuf_attach(name.text, NULL, &buffer));
    CHECK(unibuf_size(buffer) == size && first_of(buffer) == 'a');
    write_at(buffer, device, 'b');
    tell(from_other[1], &done, 1);
    hear(to_other[0], &done, 1);
    CHECK_OK(unibuf_sync_to_host(buffer, 0, UNIBUF_REST));
    tell(from_other[1], &done, 1);
    hear(to_other[0], &done, 1);
    write_at(buffer, device, 'c');
    return 0;  // the process ends with newer content
}

static void one(pid_t child) {
    unibuf_buffer* buffer = NULL;
    unibuf_shared_name name;
    unibuf_shared_name again;
    unibuf_buffer_state state = UNIBUF_UNINITIALIZED;
    char done = 'x';
    CHECK_OK(unibuf_create(size, NULL, &buffer));
    CHECK_OK(unibuf_fill(buffer, "a", 1));
    void* pointer = NULL;
    CHECK_OK(unibuf_host(buffer, &pointer));
    CHECK_REFUSED(UNIBUF_ACCESS_CONFLICT, "release_host", unibuf_share(buffer, &name));
    CHECK_OK(unibuf_release_host(buffer));
    CHECK_OK(unibuf_share(buffer, &name));
    CHECK_OK(unibuf_share(buffer, &again));
    CHECK(strcmp(name.text, again.text) == 0);

    tell(to_other[1], &name, sizeof name);
    hear(from_other[0], &done, 1);
    CHECK_REFUSED(UNIBUF_ACCESS_CONFLICT, "sync_to_host", unibuf_copy_to(buffer, &done, 1, 0));
    CHECK_OK(unibuf_state(buffer, &state));
    CHECK(state == UNIBUF_DEVICE_DIRTY);
    tell(to_other[1], &done, 1);
    hear(from_other[0], &done, 1);
    CHECK(first_of(buffer) == 'b');

    tell(to_other[1], &done, 1);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_REFUSED(UNIBUF_TRANSFER_FAILED, "has ended", unibuf_copy_to(buffer, &done, 1, 0));
    CHECK_OK(unibuf_mark_host_dirty(buffer, 0, UNIBUF_REST));
    CHECK_OK(unibuf_fill(buffer, "d", 1));

    unibuf_buffer* same = NULL;
    CHECK_OK(unibuf_attach(name.text, NULL, &same));
    CHECK(unibuf_id(same) == unibuf_id(buffer) && first_of(same) == 'd');
    unibuf_destroy(same);
    unibuf_destroy(buffer);
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, name.text, unibuf_attach(name.text, NULL, &same));
}

int main(void) {
    CHECK(pipe(to_other) == 0 && pipe(from_other) == 0);
    const pid_t child = fork();  // forked before there are threads
    if (child == 0) return other();
    CHECK(child > 0);
    RUN(one(child));
    return 0;
}
