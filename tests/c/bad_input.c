// bad_input.c: nonsense in every call: it is refused with the right status and a message, and changes nothing.
#include <pthread.h>
#include <string.h>
#include <unibuf/cuda.h>
#include <unibuf/metal.h>
#include <unibuf/opencl.h>
#include <unibuf/opengl.h>

#include "bad_input.h"

const unibuf_space no_such_spaces[spaces] = {-1, -2, 1, 31, 32, 255, 256, 65536, INT32_MAX, INT32_MIN};

static void names_of_numbers(void) {
    CHECK(strcmp(unibuf_message(), "") == 0);  // nothing has failed yet
    CHECK(strcmp(unibuf_version(), PROJECT_VERSION) == 0 && strcmp(UNIBUF_VERSION, PROJECT_VERSION) == 0);
    CHECK(strcmp(unibuf_status_name(UNIBUF_OK), "ok") == 0);
    CHECK(strcmp(unibuf_status_name(UNIBUF_NOT_ALLOCATED), "not_allocated") == 0);
    CHECK(strcmp(unibuf_status_name(UNIBUF_UNSUPPORTED), "unsupported") == 0);
    CHECK(strcmp(unibuf_status_name((unibuf_status)11), "unknown") == 0);
    CHECK(strcmp(unibuf_status_name((unibuf_status)-1), "unknown") == 0);
    CHECK(strcmp(unibuf_state_name(UNIBUF_UNINITIALIZED), "UNINITIALIZED") == 0);
    CHECK(strcmp(unibuf_state_name(UNIBUF_MIXED), "MIXED") == 0);
    CHECK(strcmp(unibuf_state_name((unibuf_buffer_state)7), "unknown") == 0);
    CHECK(strcmp(unibuf_state_name((unibuf_buffer_state)-1), "unknown") == 0);
    CHECK(strcmp(unibuf_cause_name(UNIBUF_CAUSE_READ), "read") == 0);
    CHECK(strcmp(unibuf_cause_name(UNIBUF_CAUSE_EVICTION), "eviction") == 0);
    CHECK(strcmp(unibuf_cause_name((unibuf_cause)8), "unknown") == 0);
    CHECK(strcmp(unibuf_cause_name((unibuf_cause)-1), "unknown") == 0);
    CHECK(strcmp(unibuf_space_name(UNIBUF_HOST), "host") == 0);
    for (int i = 0; i < spaces; ++i) CHECK(unibuf_space_name(no_such_spaces[i]) == NULL);
}

static void spaces_and_devices(void) {
    unibuf_space where = 77;
    INVALID("name", unibuf_find_space(NULL, &where));
    INVALID("place", unibuf_find_space("host", NULL));
    INVALID("nonsense", unibuf_find_space("nonsense", &where));
    INVALID("", unibuf_find_space("", &where));
    INVALID("gpu:0", unibuf_find_space("gpu:0", &where));
    CHECK_REFUSED(UNIBUF_DEVICE_UNAVAILABLE, "debug:99", unibuf_find_space("debug:99", &where));
    INVALID("place", unibuf_default_device(NULL));
    INVALID("place", unibuf_devices_list(NULL));
    INVALID("place", unibuf_memory_of(UNIBUF_HOST, NULL));
    CHECK(where == 77);
    unibuf_memory memory = {.total = 77};
    for (int i = 0; i < spaces; ++i) {
        INVALID("unibuf_find_space", unibuf_set_default_device(no_such_spaces[i]));
        INVALID("unibuf_find_space", unibuf_memory_of(no_such_spaces[i], &memory));
        INVALID("unibuf_find_space", unibuf_limit_memory(no_such_spaces[i], 0));
        INVALID("unibuf_find_space", unibuf_trim_memory(no_such_spaces[i]));
    }
    CHECK(memory.total == 77);
    INVALID("timeout", unibuf_set_default_timeout(-1));

    unibuf_devices* devices = NULL;
    unibuf_device_info info = {.name = "mine"};
    CHECK_OK(unibuf_devices_list(&devices));
    OUTSIDE("the list has", unibuf_devices_get(devices, unibuf_devices_count(devices), &info));
    OUTSIDE("the list has", unibuf_devices_get(devices, SIZE_MAX, &info));
    INVALID("list", unibuf_devices_get(NULL, 0, &info));
    INVALID("place", unibuf_devices_get(devices, 0, NULL));
    CHECK(strcmp(info.name, "mine") == 0);
    CHECK(unibuf_devices_count(NULL) == 0);
    unibuf_devices_destroy(devices);
    unibuf_devices_destroy(NULL);
}

static void options(void) {
    unibuf_buffer* buffer = no_buffer;
    unibuf_options wrong = UNIBUF_OPTIONS_INIT;
    INVALID("place", unibuf_create(size, NULL, NULL));
    for (int number = -1; number <= 1000; number += 1001) {
        wrong = (unibuf_options)UNIBUF_OPTIONS_INIT;
        wrong.access = (unibuf_host_access)number;
        INVALID("host access", unibuf_create(size, &wrong, &buffer));
        wrong = (unibuf_options)UNIBUF_OPTIONS_INIT;
        wrong.hint = (unibuf_memory_hint)number;
        INVALID("memory hint", unibuf_create(size, &wrong, &buffer));
        wrong = (unibuf_options)UNIBUF_OPTIONS_INIT;
        wrong.tracking = (unibuf_write_tracking)number;
        INVALID("write tracking", unibuf_create(size, &wrong, &buffer));
    }
    wrong = (unibuf_options)UNIBUF_OPTIONS_INIT;
    wrong.access = (unibuf_host_access)(UNIBUF_HOST_CONSTANT + 1);
    INVALID("host access is 4", unibuf_create(size, &wrong, &buffer));
    for (int i = 1; i < spaces; ++i) {  // the first is UNIBUF_NO_SPACE
        wrong = (unibuf_options)UNIBUF_OPTIONS_INIT;
        wrong.device = no_such_spaces[i];
        INVALID("space", unibuf_create(size, &wrong, &buffer));
        INVALID("space", unibuf_pool_acquire(unibuf_pool_shared(), size, &wrong, &buffer));
    }
    CHECK(buffer == no_buffer);

    // A buffer may be larger than any memory, as nothing is allocated until it is accessed.
    for (int i = 0; i < 2; ++i) {
        unibuf_lease lease;
        void* pointer = &wrong;
        CHECK_OK(unibuf_create(i == 0 ? SIZE_MAX : SIZE_MAX / 2, NULL, &buffer));
        CHECK_REFUSED(UNIBUF_OUT_OF_MEMORY, "bytes", unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_WRITE, NULL, &lease));
        CHECK_STATUS(UNIBUF_OUT_OF_MEMORY, unibuf_host(buffer, &pointer));
        CHECK(pointer == &wrong);
        unibuf_destroy(buffer);
        buffer = no_buffer;
        CHECK_STATUS(UNIBUF_OUT_OF_MEMORY,
                     unibuf_pool_reserve(unibuf_pool_shared(), 1, SIZE_MAX / (size_t)(i + 1), UNIBUF_HOST, NULL));
    }
    char memory[8];
    INVALID("data", unibuf_create_over(NULL, 8, NULL, NULL, NULL, &buffer));
    INVALID("place", unibuf_create_over(memory, 8, NULL, NULL, NULL, NULL));
    INVALID("address", unibuf_create_over(memory, SIZE_MAX - 1, NULL, NULL, NULL, &buffer));
    INVALID("address", unibuf_create_over(memory, UNIBUF_REST, NULL, NULL, NULL, &buffer));
    CHECK(buffer == no_buffer);
}

static void handles(void) {
    unibuf_lease lease;
    memset(&lease, 0xEE, sizeof lease);
    void* pointer = &lease;
    const void* to_read = &lease;
    unibuf_native native = {.where = 77};
    unibuf_buffer_state state = UNIBUF_MIXED;
    unibuf_placement placement = {.reason = "mine"};
    unibuf_held* held = (void*)0x10;
    unibuf_buffer* buffer = no_buffer;
    char data[1] = {'x'};

    INVALID("buffer", unibuf_view(NULL, 0, 1, &buffer));
    INVALID("buffer", unibuf_acquire(NULL, UNIBUF_HOST, UNIBUF_READ, NULL, &lease));
    CHECK(lease.data == NULL && lease.native.size == 0 && lease.reserved[0] == 0);
    INVALID("buffer", unibuf_host(NULL, &pointer));
    INVALID("buffer", unibuf_host_to_read(NULL, &to_read));
    INVALID("buffer", unibuf_release_host(NULL));
    INVALID("buffer", unibuf_device(NULL, &native));
    INVALID("buffer", unibuf_release_device(NULL));
    INVALID("buffer", unibuf_hold(NULL, UNIBUF_HOST, 0, 1, &held));
    INVALID("buffer", unibuf_sync_to_host(NULL, 0, 1));
    INVALID("buffer", unibuf_sync_to_device(NULL, 0, 1));
    INVALID("buffer", unibuf_mark_host_dirty(NULL, 0, 1));
    INVALID("buffer", unibuf_mark_device_dirty(NULL, 0, 1));
    INVALID("buffer", unibuf_mark_dirty(NULL, UNIBUF_HOST, NULL));
    INVALID("buffer", unibuf_prefetch(NULL, UNIBUF_HOST, NULL));
    INVALID("buffer", unibuf_discard(NULL, UNIBUF_HOST));
    INVALID("buffer", unibuf_discard_content(NULL));
    INVALID("buffer", unibuf_fill(NULL, data, 1));
    INVALID("buffer", unibuf_copy_from(NULL, data, 1, 0));
    INVALID("buffer", unibuf_copy_to(NULL, data, 1, 0));
    INVALID("buffer", unibuf_state(NULL, &state));
    INVALID("buffer", unibuf_placement_at(NULL, UNIBUF_HOST, &placement));
    INVALID("buffer", unibuf_register("name", NULL, false));
    unibuf_shared_name name = {"mine"};
    INVALID("buffer", unibuf_share(NULL, &name));
    CHECK(strcmp(name.text, "mine") == 0);
    INVALID("fence", unibuf_fence_wait(NULL, 0));
    unibuf_fence* fence = (void*)0x10;
    INVALID("work", unibuf_fence_create(NULL, &fence));
    CHECK(fence == (void*)0x10);
    INVALID("handle", unibuf_native_address(NULL, &pointer));
    INVALID("held", unibuf_held_native(NULL, &native));
    CHECK(unibuf_held_data(NULL) == NULL);
    unibuf_standing_hold* standing = (void*)0x10;
    INVALID("buffer", unibuf_bind(NULL, UNIBUF_HOST, UNIBUF_READ, NULL, &standing));
    INVALID("standing hold", unibuf_standing_hold_native(NULL, &native));
    INVALID("standing hold", unibuf_standing_hold_resume(NULL));
    INVALID("standing hold", unibuf_standing_hold_pause(NULL));
    CHECK(standing == (void*)0x10);
    CHECK(unibuf_size(NULL) == 0 && unibuf_id(NULL) == 0);

    CHECK(pointer == &lease && to_read == &lease && native.where == 77 && state == UNIBUF_MIXED);
    CHECK(strcmp(placement.reason, "mine") == 0 && held == (void*)0x10 && buffer == no_buffer && data[0] == 'x');
    unibuf_destroy(NULL);
    unibuf_release(NULL);
    unibuf_let_go(NULL);
    unibuf_standing_hold_release(NULL);
    unibuf_fence_destroy(NULL);
    unibuf_pool_destroy(NULL);
    unibuf_batch_destroy(NULL);
}

/// Checks that nothing is done where there is no place for the answer.
static void nothing_done(void) {
    unibuf_buffer* buffer = NULL;
    unibuf_buffer_state state = UNIBUF_MIXED;
    CHECK_OK(unibuf_create(size, NULL, &buffer));
    INVALID("place", unibuf_host(buffer, NULL));
    INVALID("place", unibuf_host_to_read(buffer, NULL));
    INVALID("place", unibuf_device(buffer, NULL));
    INVALID("place", unibuf_hold(buffer, UNIBUF_HOST, 0, 1, NULL));
    INVALID("place", unibuf_bind(buffer, UNIBUF_HOST, UNIBUF_READ, NULL, NULL));
    INVALID("place", unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_WRITE, NULL, NULL));
    CHECK_OK(unibuf_state(buffer, &state));
    CHECK(state == UNIBUF_UNINITIALIZED);
    unibuf_destroy(buffer);

    unibuf_pool_statistics before;
    unibuf_pool_statistics after;
    CHECK_OK(unibuf_pool_statistics_of(unibuf_pool_shared(), &before));
    INVALID("place", unibuf_pool_acquire(unibuf_pool_shared(), size, NULL, NULL));
    CHECK_OK(unibuf_pool_statistics_of(unibuf_pool_shared(), &after));
    CHECK(after.misses == before.misses && after.hits == before.hits);
}

static void native_handles(void) {
    unibuf_native native = {.where = UNIBUF_HOST, .handle = 16, .offset = 0, .size = 1};
    int ordinal = 77;
    unsigned long long pointer = 77;
    uint32_t name = 77;
    struct _cl_mem* memory = (void*)0x10;
    unibuf_space where = 77;
    void* function = &name;
    INVALID("handle", unibuf_cuda_pointer(NULL, &pointer));
    INVALID("handle", unibuf_opencl_memory(NULL, &memory));
    INVALID("handle", unibuf_opengl_name(NULL, &name));
    INVALID("host", unibuf_cuda_pointer(&native, &pointer));
    INVALID("place", unibuf_opencl_memory(&native, NULL));
    INVALID("place", unibuf_opengl_name(&native, NULL));
    for (int i = 0; i < spaces; ++i) {
        native.where = no_such_spaces[i];
        INVALID("space", unibuf_cuda_pointer(&native, &pointer));
        INVALID("space", unibuf_opencl_memory(&native, &memory));
        INVALID("space", unibuf_opengl_name(&native, &name));
        INVALID("space", unibuf_cuda_handles(native.where, &ordinal, NULL));
        INVALID("space", unibuf_opencl_handles(native.where, NULL, NULL, NULL));
        INVALID("space", unibuf_opengl_function(native.where, "glFinish", &function));
    }
    INVALID("cl_context", unibuf_opencl_use(NULL, (void*)0x10, (void*)0x10, &where));
    INVALID("cl_device_id", unibuf_opencl_use((void*)0x10, NULL, (void*)0x10, &where));
    INVALID("cl_command_queue", unibuf_opencl_use((void*)0x10, (void*)0x10, NULL, &where));
    INVALID("place", unibuf_opencl_use((void*)0x10, (void*)0x10, (void*)0x10, NULL));
    INVALID("cl_command_queue", unibuf_opencl_add_queue(UNIBUF_HOST, NULL));
    CHECK(unibuf_opencl_queue(NULL) == NULL);
    void* object = &name;
    INVALID("handle", unibuf_metal_buffer(NULL, &object));
    INVALID("MTLDevice", unibuf_metal_use(NULL, NULL, &where));
    INVALID("place", unibuf_metal_use((void*)0x10, NULL, NULL));
    INVALID("MTLCommandQueue", unibuf_metal_add_queue(UNIBUF_HOST, NULL));
    CHECK(unibuf_metal_queue(NULL) == NULL && object == &name);
    INVALID("work", unibuf_opengl_run(UNIBUF_HOST, NULL, NULL));
    INVALID("place", unibuf_opengl_use_current_context(NULL));
    INVALID("place", unibuf_opengl_queue(UNIBUF_HOST, NULL));
    INVALID("function", unibuf_opengl_function(UNIBUF_HOST, NULL, &function));
    INVALID("place", unibuf_opengl_function(UNIBUF_HOST, "glFinish", NULL));
    CHECK(ordinal == 77 && pointer == 77 && name == 77 && memory == (void*)0x10 && where == 77 && function == &name);
    unibuf_cuda_pinned_memory(NULL, NULL);
}

static void* fail_elsewhere(void* argument) {
    CHECK(strcmp(unibuf_message(), "") == 0);  // others' failures are not this thread's
    unibuf_space where = 0;
    INVALID("elsewhere", unibuf_find_space(argument, &where));
    return NULL;
}

static void messages(void) {
    unibuf_space where = 0;
    char kept[200] = {0};
    INVALID("here", unibuf_find_space("here", &where));
    strncpy(kept, unibuf_message(), sizeof kept - 1);
    const char* const page = strstr(kept, " [unibuf explain invalid_argument]");
    CHECK(page && strcmp(strchr(page, ']'), "]") == 0);
    char name[] = "elsewhere";
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fail_elsewhere, name) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(strcmp(unibuf_message(), kept) == 0);
    CHECK_OK(unibuf_find_space("host", &where));
    CHECK(strcmp(unibuf_message(), kept) == 0);  // a call that succeeds leaves the message alone
}

int main(void) {
    RUN(names_of_numbers());
    RUN(spaces_and_devices());
    RUN(options());
    RUN(handles());
    RUN(nothing_done());

    unibuf_buffer* buffer = NULL;
    CHECK_OK(unibuf_create(size, NULL, &buffer));
    CHECK_OK(unibuf_fill(buffer, "0123456789", 10));
    RUN(bad_places(buffer));
    RUN(bad_numbers(buffer));
    RUN(bad_ranges(buffer));
    RUN(nothing_asked(buffer));
    RUN(bad_collections(buffer));
    RUN(native_handles());
    RUN(messages());

    // The refused calls have not changed what the buffer holds.
    char got[20];
    CHECK_OK(unibuf_copy_to(buffer, got, 20, 980));
    CHECK(memcmp(got, "01234567890123456789", 20) == 0);
    unibuf_destroy(buffer);
    return 0;
}
