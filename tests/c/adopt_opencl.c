// adopt_opencl.c: a cl_context, a device and queues that are the program's own.
#include <unibuf/opencl.h>

#include "check.h"
#include "driver.h"

typedef struct _cl_context* cl_context;
typedef struct _cl_device_id* cl_device_id;
typedef struct _cl_command_queue* cl_command_queue;
typedef struct _cl_mem* cl_mem;

enum { floats = 5000 };

static int32_t (*clGetPlatformIDs)(uint32_t room, void** platforms, uint32_t* count);
static int32_t (*clGetDeviceIDs)(void* platform, uint64_t type, uint32_t room, cl_device_id* devices, uint32_t* count);
static cl_context (*clCreateContext)(const intptr_t* properties, uint32_t count, const cl_device_id* devices,
                                     void (*notify)(void), void* data, int32_t* error);
static cl_command_queue (*clCreateCommandQueue)(cl_context context, cl_device_id device, uint64_t flags,
                                                int32_t* error);
static int32_t (*clEnqueueFillBuffer)(cl_command_queue queue, cl_mem memory, const void* pattern, size_t pattern_size,
                                      size_t offset, size_t size, uint32_t count, void* const* events, void** made);
static int32_t (*clGetContextInfo)(cl_context context, uint32_t what, size_t room, void* value, size_t* size);
static void* (*clCreateUserEvent)(cl_context context, int32_t* error);
static int32_t (*clEnqueueBarrierWithWaitList)(cl_command_queue queue, uint32_t count, void* const* events,
                                               void** made);
static int32_t (*clSetUserEventStatus)(void* event, int32_t status);
static int32_t (*clReleaseEvent)(void* event);
static int32_t (*clReleaseContext)(cl_context context);
static int32_t (*clReleaseCommandQueue)(cl_command_queue queue);

static cl_command_queue new_queue(cl_context context, cl_device_id device, uint64_t flags) {
    int32_t error = 0;
    const cl_command_queue queue = clCreateCommandQueue(context, device, flags, &error);
    CHECK(error == 0);
    return queue;
}

static bool host_has(unibuf_buffer* buffer, float value) {
    float got[floats];
    CHECK_OK(unibuf_copy_to(buffer, got, sizeof got, 0));
    for (int i = 0; i < floats; ++i) {
        if (got[i] < value || got[i] > value) return false;
    }
    return true;
}

/// Sets all floats as a kernel would, on a queue that unibuf may not know.
static void set(cl_command_queue queue, const unibuf_native* native, float value) {
    cl_mem memory = NULL;
    CHECK_OK(unibuf_opencl_memory(native, &memory));
    CHECK(clEnqueueFillBuffer(queue, memory, &value, sizeof value, native->offset, native->size, 0, NULL, NULL) == 0);
}

static void wrong_parts(cl_command_queue queue) {
    CHECK_STATUS(UNIBUF_INVALID_ARGUMENT, unibuf_opencl_add_queue(UNIBUF_HOST, queue));
}

/// Checks a queue that only a lease names: the host does not stop for its work, and later accesses wait for that.
static void named_queue(cl_context context, unibuf_space mine, unibuf_buffer* buffer, cl_command_queue queue,
                        float value) {
    int32_t error = 0;
    void* const event = clCreateUserEvent(context, &error);
    CHECK(error == 0);
    CHECK(clEnqueueBarrierWithWaitList(queue, 1, &event, NULL) == 0);
    unibuf_access_options options = UNIBUF_ACCESS_INIT;
    options.queue = unibuf_opencl_queue(queue);
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(buffer, mine, UNIBUF_READ_WRITE, &options, &lease));
    set(queue, &lease.native, value);
    unibuf_release(&lease);
    unibuf_access_options at_once = UNIBUF_ACCESS_INIT;
    at_once.timeout_ns = 20000000;
    CHECK_STATUS(UNIBUF_TIMEOUT, unibuf_acquire(buffer, UNIBUF_HOST, UNIBUF_READ, &at_once, &lease));
    CHECK(clSetUserEventStatus(event, 0) == 0);
    CHECK(host_has(buffer, value));
    CHECK(clReleaseEvent(event) == 0);
    CHECK(clReleaseCommandQueue(queue) == 0);
}

static void own_space(cl_context context, cl_device_id device, cl_command_queue queue) {
    unibuf_space mine = UNIBUF_NO_SPACE;
    CHECK_OK(unibuf_opencl_use(context, device, queue, &mine));
    CHECK(mine > UNIBUF_HOST && strncmp(unibuf_space_name(mine), "opencl:", 7) == 0);
    cl_context same_context = NULL;
    cl_device_id same_device = NULL;
    cl_command_queue same_queue = NULL;
    CHECK_OK(unibuf_opencl_handles(mine, &same_context, &same_device, &same_queue));
    CHECK(same_context == context && same_device == device && same_queue == queue);

    unibuf_options options = UNIBUF_OPTIONS_INIT;
    options.hint = UNIBUF_HINT_GPU_PREFERRED;
    options.device = mine;
    unibuf_buffer* buffer = NULL;
    CHECK_OK(unibuf_create(floats * sizeof(float), &options, &buffer));
    const float one = 1;
    CHECK_OK(unibuf_fill(buffer, &one, sizeof one));

    // This work is on the space's own queue, which the lease names.
    unibuf_access_options on = UNIBUF_ACCESS_INIT;
    on.queue = unibuf_opencl_queue(queue);
    unibuf_lease lease;
    CHECK_OK(unibuf_acquire(buffer, mine, UNIBUF_READ_WRITE, &on, &lease));
    set(queue, &lease.native, 2);
    unibuf_release(&lease);
    CHECK(host_has(buffer, 2));

    // This work is on another queue that unibuf was told of. The mark names no queue, so all queues are waited for.
    const cl_command_queue other = new_queue(context, device, 0);
    CHECK_OK(unibuf_opencl_add_queue(mine, other));
    CHECK_OK(unibuf_acquire(buffer, mine, UNIBUF_READ, NULL, &lease));
    const unibuf_native native = lease.native;
    unibuf_release(&lease);
    set(other, &native, 3);
    CHECK_OK(unibuf_mark_dirty(buffer, mine, NULL));
    CHECK(host_has(buffer, 3));
    on.queue = unibuf_opencl_queue(other);
    set(other, &native, 4);
    CHECK_OK(unibuf_mark_dirty(buffer, mine, &on));
    CHECK(host_has(buffer, 4));
    CHECK(clReleaseCommandQueue(other) == 0);
    named_queue(context, mine, buffer, new_queue(context, device, 0), 5);
    named_queue(context, mine, buffer, new_queue(context, device, 1), 6);  // out of order
    unibuf_destroy(buffer);
}

/// Checks that unibuf keeps what it uses: the program may release its own references.
static void references(cl_context context) {
    uint32_t count = 0;
    CHECK(clGetContextInfo(context, 0x1080, sizeof count, &count, NULL) == 0);
    CHECK(count >= 2);
}

int main(void) {
    void* const library = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!library) skip("libOpenCL.so.1 is not there");
    FUNCTION(library, clGetPlatformIDs);
    FUNCTION(library, clGetDeviceIDs);
    FUNCTION(library, clCreateContext);
    FUNCTION(library, clCreateCommandQueue);
    FUNCTION(library, clEnqueueFillBuffer);
    FUNCTION(library, clGetContextInfo);
    FUNCTION(library, clCreateUserEvent);
    FUNCTION(library, clEnqueueBarrierWithWaitList);
    FUNCTION(library, clSetUserEventStatus);
    FUNCTION(library, clReleaseEvent);
    FUNCTION(library, clReleaseContext);
    FUNCTION(library, clReleaseCommandQueue);

    void* platform = NULL;
    cl_device_id device = NULL;
    uint32_t platforms = 0;
    if (clGetPlatformIDs(1, &platform, &platforms) != 0 || platforms == 0) skip("OpenCL has no platform");
    if (clGetDeviceIDs(platform, 0xFFFFFFFFU, 1, &device, NULL) != 0) skip("OpenCL has no device");
    int32_t error = 0;
    const cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    CHECK(error == 0);
    const cl_command_queue queue = new_queue(context, device, 0);
    RUN(wrong_parts(queue));
    RUN(own_space(context, device, queue));
    RUN(references(context));
    CHECK(clReleaseCommandQueue(queue) == 0);
    CHECK(clReleaseContext(context) == 0);
    return 0;
}
