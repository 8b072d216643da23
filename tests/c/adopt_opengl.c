// adopt_opengl.c: an OpenGL context that is the program's own.
#include <pthread.h>
#include <unibuf/opengl.h>

#include "check.h"
#include "driver.h"

enum { words = 5000 };

static unsigned (*eglInitialize)(void* display, int* major, int* minor);
static unsigned (*eglBindAPI)(unsigned api);
static void* (*eglCreateContext)(void* display, void* config, void* share, const int* attributes);
static unsigned (*eglMakeCurrent)(void* display, void* draw, void* read, void* context);
static unsigned (*eglDestroyContext)(void* display, void* context);
static void* (*eglGetProcAddress)(const char* name);
static void* (*get_display)(unsigned platform, void* native, const int* attributes);

static void (*clear)(uint32_t name, uint32_t internal, ptrdiff_t offset, ptrdiff_t size, uint32_t format, uint32_t type,
                     const void* data);

static void check_all(unibuf_buffer* buffer, uint32_t value) {
    uint32_t got[words];
    CHECK_OK(unibuf_copy_to(buffer, got, sizeof got, 0));
    for (int i = 0; i < words; ++i) CHECK(got[i] == value);
}

/// Sets all words as a shader would.
static void set(const unibuf_native* native, uint32_t value) {
    uint32_t name = 0;
    CHECK_OK(unibuf_opengl_name(native, &name));
    const uint32_t r32ui = 0x8236;
    const uint32_t red_integer = 0x8D94;
    const uint32_t unsigned_int = 0x1405;
    clear(name, r32ui, (ptrdiff_t)native->offset, (ptrdiff_t)native->size, red_integer, unsigned_int, &value);
}

static void note(void* argument) { *(pthread_t*)argument = pthread_self(); }

static void* sync_elsewhere(void* argument) {
    CHECK_REFUSED(UNIBUF_DEVICE_UNAVAILABLE, "context", unibuf_sync_to_host(argument, 0, UNIBUF_REST));
    return NULL;
}

static void no_context(void) {
    unibuf_space none = 77;
    CHECK_REFUSED(UNIBUF_DEVICE_UNAVAILABLE, "context", unibuf_opengl_use_current_context(&none));
    CHECK(none == 77);
}

static void own_space(void) {
    unibuf_space mine = UNIBUF_NO_SPACE;
    CHECK_OK(unibuf_opengl_use_current_context(&mine));
    CHECK(mine > UNIBUF_HOST && strncmp(unibuf_space_name(mine), "opengl:", 7) == 0);
    void* function = NULL;
    CHECK_OK(unibuf_opengl_function(mine, "glClearNamedBufferSubData", &function));
    set_function((void*)&clear, function);

    unibuf_options options = UNIBUF_OPTIONS_INIT;
    options.hint = UNIBUF_HINT_GPU_PREFERRED;
    options.device = mine;
    unibuf_buffer* buffer = NULL;
    CHECK_OK(unibuf_create(words * sizeof(uint32_t), &options, &buffer));
    const uint32_t one = 1;
    CHECK_OK(unibuf_fill(buffer, &one, sizeof one));
    unibuf_access_options on = UNIBUF_ACCESS_INIT;
    CHECK_OK(unibuf_opengl_queue(mine, &on.queue));
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(buffer, mine, UNIBUF_READ_WRITE, &on, &lease));
    set(&lease.native, 2);
    unibuf_release(&lease);
    check_all(buffer, 2);

    // Work of the program's context runs on the thread that asks, and other threads cannot use the context.
    pthread_t ran_on;
    CHECK_OK(unibuf_opengl_run(mine, note, &ran_on));
    CHECK(pthread_equal(ran_on, pthread_self()));
    CHECK_OK(unibuf_acquire(buffer, mine, UNIBUF_READ_WRITE, NULL, &lease));
    set(&lease.native, 3);
    unibuf_release(&lease);
    pthread_t other;
    CHECK(pthread_create(&other, NULL, sync_elsewhere, buffer) == 0);
    CHECK(pthread_join(other, NULL) == 0);
    check_all(buffer, 3);  // nothing was lost
    unibuf_destroy(buffer);
}

/// Checks that unibuf's own context has a thread of its own.
static void thread_of_unibuf(void) {
    unibuf_space where = UNIBUF_NO_SPACE;
    CHECK_OK(unibuf_find_space("opengl:0", &where));
    pthread_t ran_on;
    CHECK_OK(unibuf_opengl_run(where, note, &ran_on));
    CHECK(!pthread_equal(ran_on, pthread_self()));
}

int main(void) {
    void* const library = dlopen("libEGL.so.1", RTLD_NOW);
    if (!library) skip("libEGL.so.1 is not there");
    FUNCTION(library, eglInitialize);
    FUNCTION(library, eglBindAPI);
    FUNCTION(library, eglCreateContext);
    FUNCTION(library, eglMakeCurrent);
    FUNCTION(library, eglDestroyContext);
    FUNCTION(library, eglGetProcAddress);
    set_function((void*)&get_display, eglGetProcAddress("eglGetPlatformDisplayEXT"));

    void* const display = get_display(0x31DD, NULL, NULL);  // the surfaceless platform of Mesa
    if (!display || !eglInitialize(display, NULL, NULL)) skip("EGL has no display without a window");
    static const int core_4_5[] = {0x3098, 4, 0x30FB, 5, 0x30FD, 1, 0x3038};
    CHECK(eglBindAPI(0x30A2));
    void* const context = eglCreateContext(display, NULL, NULL, core_4_5);
    if (!context) skip("EGL gives no context of OpenGL 4.5");
    RUN(no_context());
    CHECK(eglMakeCurrent(display, NULL, NULL, context));
    RUN(own_space());
    RUN(thread_of_unibuf());
    CHECK(eglMakeCurrent(display, NULL, NULL, NULL));
    CHECK(eglDestroyContext(display, context));
    return 0;
}
