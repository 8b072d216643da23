// native.cpp: native handles: addresses, and the functions of unibuf/cuda.h, metal.h, opencl.h and opengl.h.
#include <unibuf/cuda.h>
#include <unibuf/metal.h>
#include <unibuf/opencl.h>
#include <unibuf/opengl.h>

#include <cstddef>
#include <cstdint>
#include <unibuf/cuda.hpp>
#include <unibuf/metal.hpp>
#include <unibuf/opencl.hpp>
#include <unibuf/opengl.hpp>

#include "attempt.hpp"
#include "convert.hpp"
#include "handles.hpp"
#include "queues.hpp"

namespace unibuf::c {
namespace {

template <class T>
void put_if(T* at, T value) noexcept {
    if (at) *at = value;
}

native_memory copy_of(const unibuf_native* given_copy) { return native_of(given(given_copy, "a handle")); }

}  // namespace
}  // namespace unibuf::c

using namespace unibuf::c;

unibuf_status unibuf_native_address(const unibuf_native* native, void** address) {
    return answer(address, "a place for the address",
                  [&] { return native_of(given(native, "a handle")).as<std::byte>(); });
}

unibuf_status unibuf_cuda_handles(unibuf_space where, int* ordinal, struct CUctx_st** context) {
    return attempt([&] {
        const unibuf::cuda::handles found = unibuf::cuda::handles_of(space_of(where));
        put_if(ordinal, found.ordinal);
        put_if(context, found.context);
    });
}

unibuf_queue unibuf_cuda_queue(struct CUstream_st* stream) { return noted(unibuf::cuda::queue_of(stream)); }

unibuf_status unibuf_cuda_use_streams(unibuf_space where, struct CUstream_st* const* streams, size_t count) {
    return attempt([&] { unibuf::cuda::use_streams(space_of(where), list_of(streams, count, "a list of streams")); });
}

unibuf_status unibuf_cuda_pointer(const unibuf_native* copy, unsigned long long* pointer) {
    return attempt([&] {
        const unibuf::native_memory native = copy_of(copy);
        static_cast<void>(unibuf::cuda::handles_of(native.where));  // throws for a copy that is elsewhere
        given(pointer, "a place for the pointer") = native.handle + native.offset;
    });
}

void unibuf_cuda_pinned_memory(uint64_t* held, uint64_t* limit) {
    const unibuf::cuda::pinned_info found = unibuf::cuda::pinned_memory();
    put_if(held, found.held);
    put_if(limit, found.limit);
}

void unibuf_cuda_limit_pinned_memory(uint64_t bytes) { unibuf::cuda::limit_pinned_memory(bytes); }

unibuf_status unibuf_metal_handles(unibuf_space where, void** device, void** queue) {
    return attempt([&] {
        const unibuf::metal::handles found = unibuf::metal::handles_of(space_of(where));
        put_if(device, found.device);
        put_if(queue, found.queue);
    });
}

unibuf_status unibuf_metal_use(void* device, void* queue, unibuf_space* where) {
    return attempt([&] {
        if (!device) refuse_null("an MTLDevice");
        unibuf_space& result = given(where, "a place for the space");
        result = unibuf::metal::use(device, queue).id();
    });
}

unibuf_status unibuf_metal_add_queue(unibuf_space where, void* queue) {
    return attempt([&] {
        if (!queue) refuse_null("an MTLCommandQueue");
        unibuf::metal::add_queue(space_of(where), queue);
    });
}

unibuf_queue unibuf_metal_queue(void* queue) { return noted(unibuf::metal::queue_of(queue)); }

unibuf_status unibuf_metal_buffer(const unibuf_native* copy, void** buffer) {
    return answer(buffer, "a place for the MTLBuffer", [&] { return unibuf::metal::memory(copy_of(copy)); });
}

unibuf_status unibuf_opencl_handles(unibuf_space where, struct _cl_context** context, struct _cl_device_id** device,
                                    struct _cl_command_queue** queue) {
    return attempt([&] {
        const unibuf::opencl::handles found = unibuf::opencl::handles_of(space_of(where));
        put_if(context, found.context);
        put_if(device, found.device);
        put_if(queue, found.queue);
    });
}

unibuf_status unibuf_opencl_use(struct _cl_context* context, struct _cl_device_id* device,
                                struct _cl_command_queue* queue, unibuf_space* where) {
    return attempt([&] {
        given(context, "a cl_context");
        given(device, "a cl_device_id");
        given(queue, "a cl_command_queue");
        unibuf_space& result = given(where, "a place for the space");
        result = unibuf::opencl::use(context, device, queue).id();
    });
}

unibuf_status unibuf_opencl_add_queue(unibuf_space where, struct _cl_command_queue* queue) {
    return attempt([&] {
        given(queue, "a cl_command_queue");
        unibuf::opencl::add_queue(space_of(where), queue);
    });
}

unibuf_queue unibuf_opencl_queue(struct _cl_command_queue* queue) { return noted(unibuf::opencl::queue_of(queue)); }

unibuf_status unibuf_opencl_memory(const unibuf_native* copy, struct _cl_mem** memory) {
    return answer(memory, "a place for the cl_mem", [&] { return unibuf::opencl::memory(copy_of(copy)); });
}

unibuf_status unibuf_opengl_run(unibuf_space where, void (*work)(void*), void* argument) {
    return attempt([&] {
        if (!work) refuse_null("work");
        unibuf::opengl::run(space_of(where), [&] { work(argument); });
    });
}

unibuf_status unibuf_opengl_use_current_context(unibuf_space* where) {
    return attempt([&] {
        unibuf_space& result = given(where, "a place for the space");
        result = unibuf::opengl::use_current_context().id();
    });
}

unibuf_status unibuf_opengl_queue(unibuf_space where, unibuf_queue* queue) {
    return answer(queue, "a place for the queue", [&] { return noted(unibuf::opengl::queue_of(space_of(where))); });
}

unibuf_status unibuf_opengl_function(unibuf_space where, const char* name, void** function) {
    return answer(function, "a place for the function",
                  [&] { return unibuf::opengl::function(space_of(where), &given(name, "the name of a function")); });
}

unibuf_status unibuf_opengl_name(const unibuf_native* copy, uint32_t* name) {
    return answer(name, "a place for the name", [&] { return unibuf::opengl::name(copy_of(copy)); });
}
