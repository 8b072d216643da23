// standing.c SPACE: a device that writes whenever it likes. The test writes through the raw handle in its place, so the
// host has to be able to address memory of the space.
#include <pthread.h>
#include <string.h>

#include "check.h"

enum { size = 8192 };

static unibuf_space gpu = UNIBUF_NO_SPACE;

static unibuf_buffer* all_of(unsigned char value) {
    unibuf_buffer* buffer = NULL;
    CHECK_OK(unibuf_create(size, NULL, &buffer));
    CHECK_OK(unibuf_fill(buffer, &value, 1));
    return buffer;
}

static unsigned char* memory_of(const unibuf_standing_hold* hold) {
    unibuf_native native;
    void* address = NULL;
    CHECK_OK(unibuf_standing_hold_native(hold, &native));
    CHECK(native.where == gpu);
    CHECK_OK(unibuf_native_address(&native, &address));
    return address;
}

static unsigned char host_reads(unibuf_buffer* buffer, size_t offset) {
    unsigned char got = 0;
    CHECK_OK(unibuf_copy_to(buffer, &got, 1, offset));
    return got;
}

static void host_writes(unibuf_buffer* buffer, size_t offset, unsigned char value) {
    CHECK_OK(unibuf_copy_from(buffer, &value, 1, offset));
}

static uint64_t moved(const unibuf_buffer* buffer) {
    unibuf_statistics statistics;
    CHECK_OK(unibuf_statistics_of(buffer, &statistics));
    return statistics.bytes_moved;
}

static void each_side_has_what_the_other_wrote_last(void) {
    unibuf_buffer* const buffer = all_of(1);
    unibuf_standing_hold* hold = NULL;
    CHECK_OK(unibuf_bind(buffer, gpu, UNIBUF_READ_WRITE, NULL, &hold));
    unsigned char* const device = memory_of(hold);
    CHECK(device[0] == 1 && device[size - 1] == 1);
    for (unsigned char value = 2; value < 5; ++value) {
        device[100] = value;
        const uint64_t before = moved(buffer);
        CHECK(host_reads(buffer, 100) == value);
        CHECK(moved(buffer) - before == 1);  // no more moved than was asked for
    }
    host_writes(buffer, 5000, 9);
    CHECK(device[5000] == 9 && device[100] == 4);
    CHECK_STATUS(UNIBUF_ACCESS_CONFLICT, unibuf_discard(buffer, gpu));  // the hold pins its copy
    device[7] = 77;
    unibuf_standing_hold_release(hold);
    CHECK(host_reads(buffer, 7) == 77);  // the device wrote this before the hold ended
    CHECK_OK(unibuf_sync_to_host(buffer, 0, UNIBUF_REST));
    CHECK_OK(unibuf_discard(buffer, gpu));
    unibuf_destroy(buffer);
}

static void a_part_that_opens_when_it_is_told(void) {
    unibuf_buffer* const buffer = all_of(1);
    unibuf_standing_options options = UNIBUF_STANDING_INIT;
    options.offset = 1000;
    options.size = 500;
    options.reopens = UNIBUF_REOPENS_WHEN_TOLD;
    unibuf_standing_hold* hold = NULL;
    CHECK_OK(unibuf_bind(buffer, gpu, UNIBUF_READ_WRITE, &options, &hold));
    unibuf_native native;
    CHECK_OK(unibuf_standing_hold_native(hold, &native));
    CHECK(native.offset == 1000 && native.size == 500);
    unsigned char* const device = memory_of(hold);
    device[3] = 2;
    CHECK(host_reads(buffer, 1003) == 2);
    const uint64_t before = moved(buffer);
    CHECK(host_reads(buffer, 1003) == 2);
    host_writes(buffer, 1003, 6);
    CHECK(moved(buffer) == before);  // the bytes stay at the host
    CHECK_OK(unibuf_standing_hold_resume(hold));
    CHECK(device[3] == 6);
    device[3] = 7;
    CHECK_OK(unibuf_standing_hold_pause(hold));
    CHECK(host_reads(buffer, 1003) == 7);
    CHECK_OK(unibuf_standing_hold_resume(hold));
    unibuf_standing_hold_release(hold);
    unibuf_destroy(buffer);
}

struct holder {
    unibuf_buffer* of;
    unibuf_status answer;
    int pauses;
    int resumes;
};

static unibuf_status count_pause(void* context) {
    struct holder* const here = context;
    unibuf_buffer_state state;
    CHECK_OK(unibuf_state(here->of, &state));  // would never return if a lock were held
    ++here->pauses;
    return here->answer;
}

static void count_resume(void* context) { ++((struct holder*)context)->resumes; }

static void a_holder_is_asked_to_pause(void) {
    struct holder here = {.of = all_of(1), .answer = UNIBUF_OK};
    unibuf_standing_options options = UNIBUF_STANDING_INIT;
    options.pause = count_pause;
    options.resume = count_resume;
    options.context = &here;
    unibuf_standing_hold* hold = NULL;
    CHECK_OK(unibuf_bind(here.of, gpu, UNIBUF_READ_WRITE, &options, &hold));
    CHECK(here.pauses == 0 && here.resumes == 0);
    memory_of(hold)[0] = 2;
    CHECK(host_reads(here.of, 0) == 2);
    CHECK(here.pauses == 1 && here.resumes == 1);

    // The access returns what `pause` returned, and nothing else changes.
    static const unibuf_status refusals[][2] = {{UNIBUF_TIMEOUT, UNIBUF_TIMEOUT},
                                                {UNIBUF_NOT_ALLOCATED, UNIBUF_NOT_ALLOCATED},
                                                {UNIBUF_UNSUPPORTED, UNIBUF_UNSUPPORTED},
                                                {(unibuf_status)11, UNIBUF_UNSUPPORTED},
                                                {(unibuf_status)-1, UNIBUF_UNSUPPORTED}};
    memory_of(hold)[0] = 3;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; ++i) {
        unsigned char got = 200;
        here.answer = refusals[i][0];
        CHECK_REFUSED(refusals[i][1], unibuf_status_name(here.answer), unibuf_copy_to(here.of, &got, 1, 0));
        CHECK(got == 200 && here.pauses == 2 + (int)i && here.resumes == 1);
    }
    CHECK_STATUS(UNIBUF_UNSUPPORTED, unibuf_standing_hold_pause(hold));
    here.answer = UNIBUF_OK;
    CHECK(host_reads(here.of, 0) == 3);
    unibuf_standing_hold_release(hold);
    unibuf_destroy(here.of);
}

/// A thread that writes all the time, except while it is told to pause.
struct writer {
    pthread_mutex_t turn;
    unsigned char* device;
    bool ends;
};

static unibuf_status stop(void* context) {
    struct writer* const here = context;
    return pthread_mutex_lock(&here->turn) == 0 ? UNIBUF_OK : UNIBUF_UNSUPPORTED;
}

static void go_on(void* context) { CHECK(pthread_mutex_unlock(&((struct writer*)context)->turn) == 0); }

static void* write_all_the_time(void* context) {
    struct writer* const here = context;
    for (unsigned value = 0;; ++value) {
        CHECK(pthread_mutex_lock(&here->turn) == 0);
        const bool ends = here->ends;
        memset(here->device, (int)(value % 256), size);
        CHECK(pthread_mutex_unlock(&here->turn) == 0);
        if (ends) return NULL;
    }
}

static void a_thread_that_writes_all_the_time_shows_whole_generations(void) {
    unibuf_buffer* const buffer = all_of(0);
    struct writer here = {.ends = false};
    CHECK(pthread_mutex_init(&here.turn, NULL) == 0);
    unibuf_standing_options options = UNIBUF_STANDING_INIT;
    options.pause = stop;
    options.resume = go_on;
    options.context = &here;
    unibuf_standing_hold* hold = NULL;
    CHECK_OK(unibuf_bind(buffer, gpu, UNIBUF_READ_WRITE, &options, &hold));
    here.device = memory_of(hold);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, write_all_the_time, &here) == 0);
    for (int i = 0; i < 100; ++i) {
        unsigned char got[size];
        CHECK_OK(unibuf_copy_to(buffer, got, size, 0));
        CHECK(memcmp(got, got + 1, size - 1) == 0);
    }
    CHECK(stop(&here) == UNIBUF_OK);
    here.ends = true;
    go_on(&here);
    CHECK(pthread_join(thread, NULL) == 0);
    unibuf_standing_hold_release(hold);
    CHECK(pthread_mutex_destroy(&here.turn) == 0);
    unibuf_destroy(buffer);
}

static void what_outlives_what(void) {
    unibuf_buffer* const buffer = all_of(5);
    unibuf_standing_hold* hold = NULL;
    unibuf_standing_hold* other = NULL;
    CHECK_OK(unibuf_bind(buffer, gpu, UNIBUF_READ, NULL, &hold));
    CHECK_OK(unibuf_bind(buffer, gpu, UNIBUF_READ_WRITE, NULL, &other));  // holds at one memory may share bytes
    unibuf_standing_hold_release(other);
    unibuf_destroy(buffer);
    CHECK(memory_of(hold)[size - 1] == 5);
    unibuf_standing_hold_release(hold);
    uint64_t held = 1;
    unibuf_memory_held(&held, NULL);
    CHECK(held == 0);
}

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    CHECK_OK(unibuf_find_space(argv[1], &gpu));
    RUN(each_side_has_what_the_other_wrote_last());
    RUN(a_part_that_opens_when_it_is_told());
    RUN(a_holder_is_asked_to_pause());
    RUN(a_thread_that_writes_all_the_time_shows_whole_generations());
    RUN(what_outlives_what());
    return 0;
}
