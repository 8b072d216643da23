// tests/doubles/cuda/graphics_calls.cpp: buffer objects of OpenGL. Device 0 is the card of every OpenGL context.
//
// A map copies the bytes to device memory, at another address each time, and leaves garbage in the buffer object; an
// unmap copies them back. So what OpenGL reads meanwhile is wrong, and what it writes meanwhile ends the program.
#include <dlfcn.h>

#include <algorithm>
#include <span>

#include "doubles/cuda/calls.hpp"
#include "doubles/cuda/stop.hpp"
#include "doubles/cuda/streams.hpp"

using namespace cuda_double;

struct CUgraphicsResource_st {
    void* opengl = nullptr;  // the context
    unsigned buffer = 0;
    CUctx_st* context = nullptr;
    std::size_t bytes = 0;
    bool unregistered = false;
    device_pointer mapped = 0;  // 0 while it is not
};

namespace {

constexpr std::byte garbage{0x5A};

/// The machine's OpenGL, as the context that is current on this thread has it.
struct opengl {
    void* (*current)() = nullptr;
    unsigned char (*is_buffer)(unsigned) = nullptr;
    void (*get_size)(unsigned, unsigned, std::int64_t*) = nullptr;
    void (*read)(unsigned, std::ptrdiff_t, std::ptrdiff_t, void*) = nullptr;
    void (*write)(unsigned, std::ptrdiff_t, std::ptrdiff_t, const void*) = nullptr;

    opengl() {
        void* const egl = ::dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!egl) return;
        const auto find = reinterpret_cast<void* (*)(const char*)>(::dlsym(egl, "eglGetProcAddress"));
        current = reinterpret_cast<decltype(current)>(::dlsym(egl, "eglGetCurrentContext"));
        is_buffer = reinterpret_cast<decltype(is_buffer)>(find("glIsBuffer"));
        get_size = reinterpret_cast<decltype(get_size)>(find("glGetNamedBufferParameteri64v"));
        read = reinterpret_cast<decltype(read)>(find("glGetNamedBufferSubData"));
        write = reinterpret_cast<decltype(write)>(find("glNamedBufferSubData"));
    }

    static const opengl& get() {
        static const opengl once;
        return once;
    }

    void* context() const { return current ? current() : nullptr; }
};

std::vector<CUgraphicsResource_st*>& known() {
    static auto* const all = new std::vector<CUgraphicsResource_st*>;
    return *all;
}

/// What to answer where the resource cannot be used here and now.
result check(const call& from, resource_handle resource) {
    if (std::ranges::find(known(), resource) == known().end()) return invalid_handle;
    if (resource->unregistered) stop("%s of a resource that was unregistered", from.name());
    if (resource->context != &from.context()) return invalid_handle;
    const opengl& gl = opengl::get();
    if (!gl.context() || gl.context() != resource->opengl) return invalid_graphics_context;
    if (!gl.is_buffer(resource->buffer)) stop("%s of a buffer object that OpenGL has deleted", from.name());
    return success;
}

/// The stream that it is done on; null, and what to answer, where there is none.
CUstream_st* find_stream(call& from, stream_handle handle, result& status) {
    CUstream_st* const found = stream_behind(from, handle);
    status = !found ? invalid_handle : found->capture == capture_none ? success : capture_unsupported;
    return status == success ? found : nullptr;
}

std::span<std::byte> bytes_of(const call& from, const CUgraphicsResource_st& of) {
    return {from.in().memory.bytes_of(of.mapped), of.bytes};
}

result map(call& from, CUgraphicsResource_st& what, CUstream_st& on) {
    region* const made = from.in().memory.allocate(what.bytes, from.context().device, nullptr);
    if (!made) return out_of_memory;
    what.mapped = made->begin;
    const auto size = static_cast<std::ptrdiff_t>(what.bytes);
    opengl::get().read(what.buffer, 0, size, bytes_of(from, what).data());
    const std::vector<std::byte> nothing(what.bytes, garbage);
    opengl::get().write(what.buffer, 0, size, nothing.data());
    return submit(from, on, {{made, made->begin, made->bytes, true}}, {});
}

result unmap(call& from, CUgraphicsResource_st& what, CUstream_st& on) {
    region& mapped = *from.in().memory.find(what.mapped);
    if (const result status = submit(from, on, {{&mapped, mapped.begin, mapped.bytes, true}}, {}); status != success) {
        return status;
    }
    const queued last = on.last;
    from.wait_for(last);
    const auto size = static_cast<std::ptrdiff_t>(what.bytes);
    std::vector<std::byte> left(what.bytes);
    opengl::get().read(what.buffer, 0, size, left.data());
    if (std::ranges::any_of(left, [](std::byte each) { return each != garbage; })) {
        stop("OpenGL has written to buffer object %u while it was mapped for CUDA", what.buffer);
    }
    opengl::get().write(what.buffer, 0, size, bytes_of(from, what).data());
    what.mapped = 0;
    from.in().memory.free(mapped);
    from.in().memory.vanish(mapped.begin, mapped.bytes);
    return success;
}

}  // namespace

CUDA_DOUBLE_CALL cuGLGetDevices_v2(unsigned* count, device_ordinal* devices, unsigned room, int list) {
    const call from("cuGLGetDevices", call::needs::driver);
    if (from.refused() != success) return from.refused();
    if (list < 1 || list > 3) return invalid_value;
    if (!opengl::get().context()) return invalid_graphics_context;
    *count = 1;
    if (room > 0) devices[0] = 0;
    return success;
}

CUDA_DOUBLE_CALL cuGraphicsGLRegisterBuffer(resource_handle* resource, unsigned buffer, unsigned flags) {
    const call from("cuGraphicsGLRegisterBuffer", call::needs::context);
    if (from.refused() != success) return from.refused();
    const opengl& gl = opengl::get();
    if (!gl.context()) return invalid_graphics_context;
    if (flags > 2) return invalid_value;
    if (!gl.is_buffer(buffer)) return invalid_handle;
    if (from.context().device != 0) return invalid_graphics_context;
    for (const CUgraphicsResource_st* each : known()) {
        if (!each->unregistered && each->buffer == buffer && each->opengl == gl.context()) return already_mapped;
    }
    constexpr unsigned buffer_size = 0x8764;  // GL_BUFFER_SIZE
    std::int64_t bytes = 0;
    gl.get_size(buffer, buffer_size, &bytes);
    known().push_back(new CUgraphicsResource_st{.opengl = gl.context(),
                                                .buffer = buffer,
                                                .context = &from.context(),
                                                .bytes = static_cast<std::size_t>(bytes)});
    *resource = known().back();
    return success;
}

CUDA_DOUBLE_CALL cuGraphicsUnregisterResource(resource_handle resource) {
    const call from("cuGraphicsUnregisterResource", call::needs::context);
    if (from.refused() != success) return from.refused();
    if (const result status = check(from, resource); status != success) return status;
    if (resource->mapped != 0) stop("cuGraphicsUnregisterResource of a resource that is mapped");
    resource->unregistered = true;
    return success;
}

CUDA_DOUBLE_CALL cuGraphicsMapResources(unsigned count, resource_handle* resources, stream_handle stream) {
    call from("cuGraphicsMapResources", call::needs::context);
    if (from.refused() != success) return from.refused();
    result status = success;
    CUstream_st* const on = find_stream(from, stream, status);
    for (unsigned i = 0; i < count && status == success; ++i) {
        status = check(from, resources[i]);
        if (status == success && resources[i]->mapped != 0) status = already_mapped;
    }
    for (unsigned i = 0; i < count && status == success; ++i) status = map(from, *resources[i], *on);
    return status;
}

CUDA_DOUBLE_CALL cuGraphicsUnmapResources(unsigned count, resource_handle* resources, stream_handle stream) {
    call from("cuGraphicsUnmapResources", call::needs::context);
    if (from.refused() != success) return from.refused();
    result status = success;
    CUstream_st* const on = find_stream(from, stream, status);
    for (unsigned i = 0; i < count && status == success; ++i) {
        status = check(from, resources[i]);
        if (status == success && resources[i]->mapped == 0) status = not_mapped;
    }
    for (unsigned i = 0; i < count && status == success; ++i) status = unmap(from, *resources[i], *on);
    return status;
}

CUDA_DOUBLE_CALL cuGraphicsResourceGetMappedPointer_v2(device_pointer* address, std::size_t* bytes,
                                                       resource_handle resource) {
    const call from("cuGraphicsResourceGetMappedPointer", call::needs::context);
    if (from.refused() != success) return from.refused();
    if (const result status = check(from, resource); status != success) return status;
    if (resource->mapped == 0) return not_mapped;
    *address = resource->mapped;
    *bytes = resource->bytes;
    return success;
}
