// tests/c/contract_native.c: the handles that an API's own functions take: what they read is what the host wrote.
#include <stdlib.h>
#include <unibuf/cuda.h>
#include <unibuf/metal.h>
#include <unibuf/opencl.h>
#include <unibuf/opengl.h>

#include "check.h"
#include "contract.h"
#include "driver.h"

enum { first_byte = 1000, part_bytes = 500 };

static unibuf_lease part_on(unibuf_buffer* buffer, unibuf_space where, unibuf_queue queue) {
    unibuf_access_options options = UNIBUF_ACCESS_INIT;
    options.offset = first_byte;
    options.size = part_bytes;
    options.queue = queue;
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(buffer, where, UNIBUF_READ, &options, &lease));
    return lease;
}

/// Checks that a fence waits for what was queued before it.
static void check_fence(unibuf_space where, struct _cl_context* context, struct _cl_command_queue* queue) {
    void* const library = load("libOpenCL.so.1");
    void* (*clCreateUserEvent)(void* context, int32_t* error);
    int32_t (*clEnqueueMarkerWithWaitList)(void* queue, uint32_t count, void* const* events, void** made);
    int32_t (*clSetUserEventStatus)(void* event, int32_t status);
    int32_t (*clReleaseEvent)(void* event);
    FUNCTION(library, clCreateUserEvent);
    FUNCTION(library, clEnqueueMarkerWithWaitList);
    FUNCTION(library, clSetUserEventStatus);
    FUNCTION(library, clReleaseEvent);

    int32_t error = 0;
    void* const event = clCreateUserEvent(context, &error);
    CHECK(error == 0);
    CHECK(clEnqueueMarkerWithWaitList(queue, 1, &event, NULL) == 0);
    unibuf_fence* fence = NULL;
    CHECK_OK(unibuf_record_fence(where, unibuf_opencl_queue(queue), &fence));
    CHECK_STATUS(UNIBUF_TIMEOUT, unibuf_fence_wait(fence, 0));
    CHECK_REFUSED(UNIBUF_TIMEOUT, "2000000 ns", unibuf_fence_wait(fence, 2000000));
    CHECK(clSetUserEventStatus(event, 0) == 0);
    CHECK_OK(unibuf_fence_wait(fence, UNIBUF_FOREVER - 1));
    unibuf_fence_destroy(fence);
    CHECK(clReleaseEvent(event) == 0);
}

static void check_opencl(unibuf_space where, unibuf_buffer* buffer) {
    struct _cl_context* context = NULL;
    struct _cl_device_id* device = NULL;
    struct _cl_command_queue* queue = NULL;
    CHECK_OK(unibuf_opencl_handles(where, &context, &device, &queue));
    CHECK(context && device && queue);
    CHECK_OK(unibuf_opencl_handles(where, NULL, NULL, NULL));

    void* const library = load("libOpenCL.so.1");
    int32_t (*clEnqueueReadBuffer)(void* queue, void* memory, uint32_t blocks, size_t offset, size_t size, void* to,
                                   uint32_t count, void* const* events, void** made);
    FUNCTION(library, clEnqueueReadBuffer);
    unibuf_lease lease = part_on(buffer, where, unibuf_opencl_queue(queue));
    struct _cl_mem* memory = NULL;
    CHECK_OK(unibuf_opencl_memory(&lease.native, &memory));
    unsigned char got[part_bytes];
    CHECK(clEnqueueReadBuffer(queue, memory, 1, lease.native.offset, part_bytes, got, 0, NULL, NULL) == 0);
    CHECK(is_noise(got, first_byte, part_bytes, 1));
    void* address = NULL;
    CHECK_STATUS(UNIBUF_UNSUPPORTED, unibuf_native_address(&lease.native, &address));
    CHECK(address == NULL);
    unibuf_release(&lease);
    check_fence(where, context, queue);
}

#ifdef __APPLE__
#define OBJECTIVE_C "/usr/lib/libobjc.A.dylib"
#else
#define OBJECTIVE_C "libMetal.so"  // what stands in for it
#endif

struct objc_selector;

static void check_metal(unibuf_space where, unibuf_buffer* buffer) {
    void* device = NULL;
    void* queue = NULL;
    CHECK_OK(unibuf_metal_handles(where, &device, &queue));
    CHECK(device && queue);
    CHECK_OK(unibuf_metal_handles(where, NULL, NULL));
    unibuf_space same = 77;
    CHECK_OK(unibuf_metal_use(device, queue, &same));
    CHECK(same == where);
    CHECK_OK(unibuf_metal_add_queue(where, queue));

    void* const library = load(OBJECTIVE_C);
    struct objc_selector* (*sel_registerName)(const char* name);
    void (*objc_msgSend)(void);
    void* (*objc_autoreleasePoolPush)(void);
    void (*objc_autoreleasePoolPop)(void* pushed);
    void (*objc_release)(void* object);
    FUNCTION(library, sel_registerName);
    FUNCTION(library, objc_msgSend);
    FUNCTION(library, objc_autoreleasePoolPush);
    FUNCTION(library, objc_autoreleasePoolPop);
    FUNCTION(library, objc_release);
    // A message is sent as its method is declared.
    void* (*const get)(void* to, struct objc_selector* name) = (void* (*)(void*, struct objc_selector*))objc_msgSend;
    void* (*const make)(void* to, struct objc_selector* name, unsigned long, unsigned long) =
        (void* (*)(void*, struct objc_selector*, unsigned long, unsigned long))objc_msgSend;
    void (*const copy)(void* to, struct objc_selector* name, void*, unsigned long, void*, unsigned long,
                       unsigned long) =
        (void (*)(void*, struct objc_selector*, void*, unsigned long, void*, unsigned long, unsigned long))objc_msgSend;
    void (*const tell)(void* to, struct objc_selector* name) = (void (*)(void*, struct objc_selector*))objc_msgSend;
    void* const pool = objc_autoreleasePoolPush();
    unibuf_lease lease = part_on(buffer, where, unibuf_metal_queue(queue));
    void* from = NULL;
    CHECK_OK(unibuf_metal_buffer(&lease.native, &from));
    void* const to = make(device, sel_registerName("newBufferWithLength:options:"), part_bytes, 0);
    void* const commands = get(queue, sel_registerName("commandBuffer"));
    void* const encoder = get(commands, sel_registerName("blitCommandEncoder"));
    copy(encoder, sel_registerName("copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:"), from,
         lease.native.offset, to, 0, part_bytes);
    tell(encoder, sel_registerName("endEncoding"));
    tell(commands, sel_registerName("commit"));
    tell(commands, sel_registerName("waitUntilCompleted"));
    CHECK(is_noise(get(to, sel_registerName("contents")), first_byte, part_bytes, 1));
    unibuf_release(&lease);
    objc_release(to);
    objc_autoreleasePoolPop(pool);
}

struct gl_read {
    void (*get)(uint32_t name, ptrdiff_t offset, ptrdiff_t size, void* to);
    uint32_t name;
    size_t offset;
    unsigned char got[part_bytes];
};

static void read_by_gl(void* argument) {
    struct gl_read* const read = argument;
    read->get(read->name, (ptrdiff_t)read->offset, part_bytes, read->got);
}

static void check_opengl(unibuf_space where, unibuf_buffer* buffer) {
    unibuf_queue queue = NULL;
    CHECK_OK(unibuf_opengl_queue(where, &queue));
    CHECK(queue != NULL);
    struct gl_read read = {.name = 0};
    void* function = NULL;
    CHECK_OK(unibuf_opengl_function(where, "glGetNamedBufferSubData", &function));
    set_function((void*)&read.get, function);
    unibuf_lease lease = part_on(buffer, where, queue);
    CHECK_OK(unibuf_opengl_name(&lease.native, &read.name));
    read.offset = lease.native.offset;
    CHECK_OK(unibuf_opengl_run(where, read_by_gl, &read));
    CHECK(is_noise(read.got, first_byte, part_bytes, 1));
    void* address = NULL;
    CHECK_STATUS(UNIBUF_UNSUPPORTED, unibuf_native_address(&lease.native, &address));
    unibuf_release(&lease);
}

/// A graph that uploads what the host has leaves writing to the host until it is let go.
static void check_capture(unibuf_space where, void* library, struct CUstream_st* stream) {
    int (*cuStreamBeginCapture_v2)(struct CUstream_st* stream, int mode);
    int (*cuStreamEndCapture)(struct CUstream_st* stream, void** graph);
    int (*cuGraphDestroy)(void* graph);
    FUNCTION(library, cuStreamBeginCapture_v2);
    FUNCTION(library, cuStreamEndCapture);
    FUNCTION(library, cuGraphDestroy);
    unibuf_options options = UNIBUF_OPTIONS_INIT;
    options.hint = UNIBUF_HINT_GPU_PREFERRED;
    options.device = where;
    options.pinned = true;
    unibuf_buffer* buffer = NULL;
    CHECK_OK(unibuf_create(part_bytes, &options, &buffer));
    touch(buffer, UNIBUF_HOST, UNIBUF_WRITE, 0, UNIBUF_REST);
    unibuf_access_options asked = UNIBUF_ACCESS_INIT;
    asked.queue = unibuf_cuda_queue(stream);
    unibuf_held* held = NULL;
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "captured", unibuf_capture_upload(buffer, where, NULL, &held));
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "captured", unibuf_capture_upload(buffer, where, &asked, &held));
    CHECK(cuStreamBeginCapture_v2(stream, 0) == 0);
    CHECK_OK(unibuf_capture_upload(buffer, where, &asked, &held));
    void* graph = NULL;
    CHECK(cuStreamEndCapture(stream, &graph) == 0);
    CHECK(cuGraphDestroy(graph) == 0);
    unibuf_native native;
    CHECK_OK(unibuf_held_native(held, &native));
    CHECK(native.where == where && native.handle != 0);
    CHECK_REFUSED(UNIBUF_ACCESS_CONFLICT, "graph", unibuf_mark_dirty(buffer, where, NULL));
    unibuf_let_go(held);
    CHECK_OK(unibuf_mark_dirty(buffer, where, NULL));
    unibuf_destroy(buffer);
}

static void check_cuda(unibuf_space where, unibuf_buffer* buffer) {
    int ordinal = -1;
    struct CUctx_st* context = NULL;
    CHECK_OK(unibuf_cuda_handles(where, &ordinal, &context));
    CHECK(ordinal == 0 && context != NULL);
    CHECK_OK(unibuf_cuda_handles(where, NULL, NULL));

    void* const library = load("libcuda.so.1");
    int (*cuCtxPushCurrent_v2)(struct CUctx_st* context);
    int (*cuCtxPopCurrent_v2)(struct CUctx_st** context);
    int (*cuStreamCreate)(struct CUstream_st** stream, unsigned flags);
    int (*cuStreamDestroy_v2)(struct CUstream_st* stream);
    int (*cuStreamSynchronize)(struct CUstream_st* stream);
    int (*cuMemcpyDtoHAsync_v2)(void* to, unsigned long long from, size_t size, struct CUstream_st* stream);
    FUNCTION(library, cuCtxPushCurrent_v2);
    FUNCTION(library, cuCtxPopCurrent_v2);
    FUNCTION(library, cuStreamCreate);
    FUNCTION(library, cuStreamDestroy_v2);
    FUNCTION(library, cuStreamSynchronize);
    FUNCTION(library, cuMemcpyDtoHAsync_v2);

    CHECK(cuCtxPushCurrent_v2(context) == 0);
    struct CUstream_st* stream = NULL;
    CHECK(cuStreamCreate(&stream, 1) == 0);
    unibuf_lease lease = part_on(buffer, where, unibuf_cuda_queue(stream));
    unsigned long long pointer = 0;
    CHECK_OK(unibuf_cuda_pointer(&lease.native, &pointer));
    CHECK(pointer == lease.native.handle + lease.native.offset);
    void* address = NULL;
    CHECK_OK(unibuf_native_address(&lease.native, &address));
    CHECK((uintptr_t)address == pointer);
    unsigned char* const got = malloc(part_bytes);
    CHECK(cuMemcpyDtoHAsync_v2(got, pointer, part_bytes, stream) == 0);
    CHECK(cuStreamSynchronize(stream) == 0);
    CHECK(is_noise(got, first_byte, part_bytes, 1));
    free(got);
    unibuf_release(&lease);
    lease = part_on(buffer, where, unibuf_cuda_queue(NULL));  // the legacy default stream
    unibuf_release(&lease);
    CHECK(unibuf_cuda_queue(NULL) != NULL);
    struct CUstream_st* const streams[] = {stream, NULL};
    CHECK_OK(unibuf_cuda_use_streams(where, streams, 2));
    touch(buffer, where, UNIBUF_READ, 0, UNIBUF_REST);
    CHECK(device_has_noise(buffer, where, 1));
    CHECK_OK(unibuf_cuda_use_streams(where, NULL, 0));
    CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, "streams", unibuf_cuda_use_streams(where, NULL, 1));
    CHECK_OK(unibuf_sync_to_host(buffer, 0, UNIBUF_REST));
    check_capture(where, library, stream);
    CHECK(cuStreamDestroy_v2(stream) == 0);
    CHECK(cuCtxPopCurrent_v2(&context) == 0);

    uint64_t held = 1;
    uint64_t limit = 0;
    unibuf_cuda_pinned_memory(&held, &limit);
    CHECK(limit > 0 && held <= limit);
    unibuf_cuda_limit_pinned_memory(123456);
    unibuf_cuda_pinned_memory(NULL, &limit);
    CHECK(limit == 123456);
}

/// Checks that the handle of memory that the host can address is the address of its first byte.
static void check_address(unibuf_space where, unibuf_buffer* buffer) {
    unibuf_lease lease = part_on(buffer, where, NULL);
    void* address = NULL;
    CHECK_OK(unibuf_native_address(&lease.native, &address));
    CHECK(address == lease.data);
    CHECK(is_noise(address, first_byte, part_bytes, 1));
    unibuf_release(&lease);
}

/// Checks that calls of other APIs are refused, and leave alone what they would have written.
static void check_others(unibuf_space where, unibuf_buffer* buffer, const char* own) {
    unibuf_lease lease = part_on(buffer, where, NULL);
    if (strcmp(own, "cuda") != 0) {
        int ordinal = 77;
        unsigned long long pointer = 77;
        CHECK_REFUSED(UNIBUF_INVALID_ARGUMENT, unibuf_space_name(where), unibuf_cuda_handles(where, &ordinal, NULL));
        CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_cuda_pointer(&lease.native, &pointer));
        CHECK(ordinal == 77 && pointer == 77);
    }
    if (strcmp(own, "opencl") != 0) {
        struct _cl_mem* memory = (void*)&lease;
        CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_opencl_handles(where, NULL, NULL, NULL));
        CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_opencl_memory(&lease.native, &memory));
        CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_opencl_add_queue(where, (void*)&lease));
        CHECK(memory == (void*)&lease);
    }
    if (strcmp(own, "metal") != 0) {
        void* memory = &lease;
        CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_metal_handles(where, NULL, NULL));
        CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_metal_buffer(&lease.native, &memory));
        CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_metal_add_queue(where, &lease));
        CHECK(memory == &lease);
    }
    if (strcmp(own, "opengl") != 0) {
        uint32_t name = 77;
        void* function = &name;
        unibuf_queue queue = &name;
        struct gl_read unused = {.name = 0};
        CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_opengl_name(&lease.native, &name));
        CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_opengl_function(where, "glFinish", &function));
        CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_opengl_queue(where, &queue));
        CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_opengl_run(where, read_by_gl, &unused));
        CHECK(name == 77 && function == &name && queue == &name);
    }
    unibuf_release(&lease);
}

void contract_of_native_handles(unibuf_space where) {
    unibuf_buffer* const buffer = made(some_bytes, where, UNIBUF_HINT_GPU_PREFERRED);
    host_writes(buffer, 1);
    char own[16] = {0};
    strncpy(own, unibuf_space_name(where), strcspn(unibuf_space_name(where), ":"));
    if (strcmp(own, "metal") == 0) check_metal(where, buffer);
    if (strcmp(own, "opencl") == 0) check_opencl(where, buffer);
    if (strcmp(own, "opengl") == 0) check_opengl(where, buffer);
    if (strcmp(own, "cuda") == 0) check_cuda(where, buffer);
    if (strcmp(own, "host") == 0 || strcmp(own, "debug") == 0) check_address(where, buffer);
    check_others(where, buffer, own);
    unibuf_destroy(buffer);
}
