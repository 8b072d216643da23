// unit/headers_test.cpp: where the headers of Khronos are there, the backends' own declarations are compared with them.
//
// The backends declare what they call themselves, as these headers are not there on every machine that builds them.
#include <gtest/gtest.h>

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // clCreateCommandQueue
#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <cstddef>

#include "backends/opencl/api.hpp"
#endif
#if __has_include(<GL/glcorearb.h>) && __has_include(<EGL/egl.h>)
#define EGL_NO_X11
#include <EGL/egl.h>
#include <GL/glcorearb.h>
#include <GL/glext.h>

#include "backends/opengl/api.hpp"
#include "backends/opengl/egl.hpp"
#define UNIBUF_OPENGL_HEADERS
#endif

#include "support/same_call.hpp"

namespace unibuf::test::headers_test {
namespace {

#define SAME(mine, theirs) static_assert(static_cast<long long>(own::mine) == static_cast<long long>(theirs), #mine)

#if __has_include(<CL/cl.h>)
namespace opencl {

namespace own = backends::cl;

#define SAME_CALL(name) static_assert(same_call<decltype(own::functions::name), decltype(&::name)>::value, #name)

SAME_CALL(clGetPlatformIDs);
SAME_CALL(clGetPlatformInfo);
SAME_CALL(clGetDeviceIDs);
SAME_CALL(clGetDeviceInfo);
SAME_CALL(clRetainDevice);
SAME_CALL(clCreateContext);
SAME_CALL(clRetainContext);
SAME_CALL(clReleaseContext);
SAME_CALL(clGetContextInfo);
SAME_CALL(clCreateCommandQueue);
SAME_CALL(clRetainCommandQueue);
SAME_CALL(clReleaseCommandQueue);
SAME_CALL(clGetCommandQueueInfo);
SAME_CALL(clFlush);
SAME_CALL(clFinish);
SAME_CALL(clCreateBuffer);
SAME_CALL(clCreateSubBuffer);
SAME_CALL(clReleaseMemObject);
SAME_CALL(clGetKernelInfo);
SAME_CALL(clSetKernelArg);
SAME_CALL(clEnqueueNDRangeKernel);
SAME_CALL(clEnqueueReadBuffer);
SAME_CALL(clEnqueueWriteBuffer);
SAME_CALL(clEnqueueCopyBuffer);
SAME_CALL(clEnqueueReadBufferRect);
SAME_CALL(clEnqueueWriteBufferRect);
SAME_CALL(clEnqueueCopyBufferRect);
SAME_CALL(clEnqueueFillBuffer);
SAME_CALL(clEnqueueNativeKernel);
SAME_CALL(clEnqueueMarkerWithWaitList);
SAME_CALL(clEnqueueBarrierWithWaitList);
SAME_CALL(clWaitForEvents);
SAME_CALL(clGetEventInfo);
SAME_CALL(clReleaseEvent);

SAME(no, CL_FALSE);
SAME(yes, CL_TRUE);
SAME(success, CL_SUCCESS);
SAME(device_not_found, CL_DEVICE_NOT_FOUND);
SAME(device_not_available, CL_DEVICE_NOT_AVAILABLE);
SAME(mem_object_allocation_failure, CL_MEM_OBJECT_ALLOCATION_FAILURE);
SAME(out_of_resources, CL_OUT_OF_RESOURCES);
SAME(out_of_host_memory, CL_OUT_OF_HOST_MEMORY);
SAME(invalid_kernel, CL_INVALID_KERNEL);
SAME(invalid_buffer_size, CL_INVALID_BUFFER_SIZE);
SAME(complete, CL_COMPLETE);
SAME(platform_name, CL_PLATFORM_NAME);
SAME(device_type_cpu, CL_DEVICE_TYPE_CPU);
SAME(device_type_all, CL_DEVICE_TYPE_ALL);
SAME(device_type, CL_DEVICE_TYPE);
SAME(device_max_compute_units, CL_DEVICE_MAX_COMPUTE_UNITS);
SAME(device_max_mem_alloc_size, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
SAME(device_global_mem_size, CL_DEVICE_GLOBAL_MEM_SIZE);
SAME(device_mem_base_addr_align, CL_DEVICE_MEM_BASE_ADDR_ALIGN);
SAME(device_available, CL_DEVICE_AVAILABLE);
SAME(device_execution_capabilities, CL_DEVICE_EXECUTION_CAPABILITIES);
SAME(device_name, CL_DEVICE_NAME);
SAME(device_version, CL_DEVICE_VERSION);
SAME(device_host_unified_memory, CL_DEVICE_HOST_UNIFIED_MEMORY);
SAME(context_reference_count, CL_CONTEXT_REFERENCE_COUNT);
SAME(queue_context, CL_QUEUE_CONTEXT);
SAME(queue_device, CL_QUEUE_DEVICE);
SAME(queue_reference_count, CL_QUEUE_REFERENCE_COUNT);
SAME(queue_properties, CL_QUEUE_PROPERTIES);
SAME(kernel_function_name, CL_KERNEL_FUNCTION_NAME);
SAME(kernel_num_args, CL_KERNEL_NUM_ARGS);
SAME(kernel_context, CL_KERNEL_CONTEXT);
SAME(event_context, CL_EVENT_CONTEXT);
SAME(event_command_execution_status, CL_EVENT_COMMAND_EXECUTION_STATUS);
SAME(queue_out_of_order, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
SAME(exec_native_kernel, CL_EXEC_NATIVE_KERNEL);
SAME(mem_read_write, CL_MEM_READ_WRITE);
SAME(mem_use_host_ptr, CL_MEM_USE_HOST_PTR);
SAME(buffer_create_type_region, CL_BUFFER_CREATE_TYPE_REGION);

static_assert(sizeof(own::buffer_region) == sizeof(cl_buffer_region));
static_assert(offsetof(own::buffer_region, origin) == offsetof(cl_buffer_region, origin));
static_assert(offsetof(own::buffer_region, bytes) == offsetof(cl_buffer_region, size));

#undef SAME_CALL

}  // namespace opencl
#endif

TEST(headers, of_opencl_declare_what_the_backend_calls) {
#if !__has_include(<CL/cl.h>)
    GTEST_SKIP() << "<CL/cl.h> is not here: opencl-c-headers is its package";
#else
    SUCCEED() << "the declarations above were compared when this was compiled";
#endif
}

#ifdef UNIBUF_OPENGL_HEADERS
namespace opengl {

namespace own = backends::gl;

#define SAME_CALL(mine, theirs) static_assert(same_call<decltype(backends::gl_api::mine), theirs>::value, #mine)

SAME_CALL(get_error, PFNGLGETERRORPROC);
SAME_CALL(get_graphics_reset_status, PFNGLGETGRAPHICSRESETSTATUSPROC);
SAME_CALL(get_string, PFNGLGETSTRINGPROC);
SAME_CALL(get_integer, PFNGLGETINTEGERVPROC);
SAME_CALL(get_indexed_integer, PFNGLGETINTEGERI_VPROC);
SAME_CALL(pixel_store, PFNGLPIXELSTOREIPROC);
SAME_CALL(create_buffers, PFNGLCREATEBUFFERSPROC);
SAME_CALL(delete_buffers, PFNGLDELETEBUFFERSPROC);
SAME_CALL(is_buffer, PFNGLISBUFFERPROC);
SAME_CALL(bind_buffer, PFNGLBINDBUFFERPROC);
SAME_CALL(bind_buffer_base, PFNGLBINDBUFFERBASEPROC);
SAME_CALL(buffer_storage, PFNGLNAMEDBUFFERSTORAGEPROC);
SAME_CALL(buffer_sub_data, PFNGLNAMEDBUFFERSUBDATAPROC);
SAME_CALL(get_buffer_sub_data, PFNGLGETNAMEDBUFFERSUBDATAPROC);
SAME_CALL(clear_buffer_sub_data, PFNGLCLEARNAMEDBUFFERSUBDATAPROC);
SAME_CALL(copy_buffer_sub_data, PFNGLCOPYNAMEDBUFFERSUBDATAPROC);
SAME_CALL(map_buffer_range, PFNGLMAPNAMEDBUFFERRANGEPROC);
SAME_CALL(flush_mapped_buffer_range, PFNGLFLUSHMAPPEDNAMEDBUFFERRANGEPROC);
SAME_CALL(memory_barrier, PFNGLMEMORYBARRIERPROC);
SAME_CALL(fence_sync, PFNGLFENCESYNCPROC);
SAME_CALL(client_wait_sync, PFNGLCLIENTWAITSYNCPROC);
SAME_CALL(delete_sync, PFNGLDELETESYNCPROC);
SAME_CALL(object_label, PFNGLOBJECTLABELPROC);
SAME_CALL(get_object_label, PFNGLGETOBJECTLABELPROC);

SAME(no_error, GL_NO_ERROR);
SAME(invalid_enum, GL_INVALID_ENUM);
SAME(invalid_value, GL_INVALID_VALUE);
SAME(invalid_operation, GL_INVALID_OPERATION);
SAME(out_of_memory, GL_OUT_OF_MEMORY);
SAME(context_lost, GL_CONTEXT_LOST);
SAME(vendor, GL_VENDOR);
SAME(renderer, GL_RENDERER);
SAME(version, GL_VERSION);
SAME(major_version, GL_MAJOR_VERSION);
SAME(minor_version, GL_MINOR_VERSION);
SAME(dedicated_memory_nvx, GL_GPU_MEMORY_INFO_DEDICATED_VIDMEM_NVX);
SAME(available_memory_nvx, GL_GPU_MEMORY_INFO_CURRENT_AVAILABLE_VIDMEM_NVX);
SAME(map_read, GL_MAP_READ_BIT);
SAME(map_write, GL_MAP_WRITE_BIT);
SAME(map_flush_explicit, GL_MAP_FLUSH_EXPLICIT_BIT);
SAME(map_persistent, GL_MAP_PERSISTENT_BIT);
SAME(map_coherent, GL_MAP_COHERENT_BIT);
SAME(dynamic_storage, GL_DYNAMIC_STORAGE_BIT);
SAME(client_storage, GL_CLIENT_STORAGE_BIT);
SAME(buffer_update_barrier, GL_BUFFER_UPDATE_BARRIER_BIT);
SAME(all_barriers, GL_ALL_BARRIER_BITS);
SAME(sync_gpu_commands_complete, GL_SYNC_GPU_COMMANDS_COMPLETE);
SAME(sync_flush_commands, GL_SYNC_FLUSH_COMMANDS_BIT);
SAME(already_signaled, GL_ALREADY_SIGNALED);
SAME(timeout_expired, GL_TIMEOUT_EXPIRED);
SAME(condition_satisfied, GL_CONDITION_SATISFIED);
SAME(buffer_object, GL_BUFFER);
SAME(array_buffer, GL_ARRAY_BUFFER);
SAME(array_buffer_binding, GL_ARRAY_BUFFER_BINDING);
SAME(element_array_buffer, GL_ELEMENT_ARRAY_BUFFER);
SAME(element_array_buffer_binding, GL_ELEMENT_ARRAY_BUFFER_BINDING);
SAME(pixel_pack_buffer, GL_PIXEL_PACK_BUFFER);
SAME(pixel_pack_buffer_binding, GL_PIXEL_PACK_BUFFER_BINDING);
SAME(pixel_unpack_buffer, GL_PIXEL_UNPACK_BUFFER);
SAME(pixel_unpack_buffer_binding, GL_PIXEL_UNPACK_BUFFER_BINDING);
SAME(copy_read_buffer, GL_COPY_READ_BUFFER);
SAME(copy_write_buffer, GL_COPY_WRITE_BUFFER);
SAME(draw_indirect_buffer, GL_DRAW_INDIRECT_BUFFER);
SAME(draw_indirect_buffer_binding, GL_DRAW_INDIRECT_BUFFER_BINDING);
SAME(dispatch_indirect_buffer, GL_DISPATCH_INDIRECT_BUFFER);
SAME(dispatch_indirect_buffer_binding, GL_DISPATCH_INDIRECT_BUFFER_BINDING);
SAME(query_buffer, GL_QUERY_BUFFER);
SAME(query_buffer_binding, GL_QUERY_BUFFER_BINDING);
SAME(texture_buffer, GL_TEXTURE_BUFFER);
SAME(uniform_buffer, GL_UNIFORM_BUFFER);
SAME(uniform_buffer_binding, GL_UNIFORM_BUFFER_BINDING);
SAME(max_uniform_buffer_bindings, GL_MAX_UNIFORM_BUFFER_BINDINGS);
SAME(atomic_counter_buffer, GL_ATOMIC_COUNTER_BUFFER);
SAME(atomic_counter_buffer_binding, GL_ATOMIC_COUNTER_BUFFER_BINDING);
SAME(max_atomic_counter_buffer_bindings, GL_MAX_ATOMIC_COUNTER_BUFFER_BINDINGS);
SAME(shader_storage_buffer, GL_SHADER_STORAGE_BUFFER);
SAME(shader_storage_buffer_binding, GL_SHADER_STORAGE_BUFFER_BINDING);
SAME(max_shader_storage_buffer_bindings, GL_MAX_SHADER_STORAGE_BUFFER_BINDINGS);
SAME(unpack_swap_bytes, GL_UNPACK_SWAP_BYTES);
SAME(unpack_skip_rows, GL_UNPACK_SKIP_ROWS);
SAME(unpack_skip_pixels, GL_UNPACK_SKIP_PIXELS);
SAME(unpack_skip_images, GL_UNPACK_SKIP_IMAGES);
SAME(red_integer, GL_RED_INTEGER);
SAME(rg_integer, GL_RG_INTEGER);
SAME(rgba_integer, GL_RGBA_INTEGER);
SAME(unsigned_byte, GL_UNSIGNED_BYTE);
SAME(unsigned_short, GL_UNSIGNED_SHORT);
SAME(unsigned_int, GL_UNSIGNED_INT);
SAME(r8ui, GL_R8UI);
SAME(r16ui, GL_R16UI);
SAME(r32ui, GL_R32UI);
SAME(rg32ui, GL_RG32UI);
SAME(rgba32ui, GL_RGBA32UI);

#undef SAME_CALL
#define SAME_CALL(mine, theirs) \
    static_assert(same_call<decltype(backends::egl::functions::mine), decltype(&::theirs)>::value, #mine)

SAME_CALL(get_proc_address, eglGetProcAddress);
SAME_CALL(query_string, eglQueryString);
SAME_CALL(get_current_context, eglGetCurrentContext);
SAME_CALL(get_error, eglGetError);
SAME_CALL(initialize, eglInitialize);
SAME_CALL(bind_api, eglBindAPI);
SAME_CALL(create_context, eglCreateContext);
SAME_CALL(destroy_context, eglDestroyContext);
SAME_CALL(make_current, eglMakeCurrent);

}  // namespace opengl
#endif

TEST(headers, of_opengl_declare_what_the_backend_calls) {
#ifndef UNIBUF_OPENGL_HEADERS
    GTEST_SKIP() << "<GL/glcorearb.h> and <EGL/egl.h> are not here: libgl-dev and libegl-dev are their packages";
#else
    SUCCEED() << "the declarations above were compared when this was compiled";
#endif
}

}  // namespace
}  // namespace unibuf::test::headers_test
