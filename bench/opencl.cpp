// bench/opencl.cpp
#include "opencl.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace bench::opencl {
namespace {

using status = std::int32_t;
using waits = std::uint32_t;  // how many events a command waits for; none here

constexpr std::uint32_t yes = 1;

// These are CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, CL_MAP_READ and CL_MAP_WRITE.
constexpr std::uint64_t read_write = 1U << 0U;
constexpr std::uint64_t use_host_ptr = 1U << 3U;
constexpr std::uint64_t map_read = 1U << 0U;
constexpr std::uint64_t map_write = 1U << 1U;

struct functions {
    status (*enqueue_write)(queue, memory, std::uint32_t blocking, std::size_t offset, std::size_t bytes, const void*,
                            waits, void* const*, void**);
    status (*enqueue_read)(queue, memory, std::uint32_t blocking, std::size_t offset, std::size_t bytes, void*, waits,
                           void* const*, void**);
    status (*enqueue_write_rect)(queue, memory, std::uint32_t blocking, const std::size_t*, const std::size_t*,
                                 const std::size_t*, std::size_t, std::size_t, std::size_t, std::size_t, const void*,
                                 waits, void* const*, void**);
    status (*enqueue_read_rect)(queue, memory, std::uint32_t blocking, const std::size_t*, const std::size_t*,
                                const std::size_t*, std::size_t, std::size_t, std::size_t, std::size_t, void*, waits,
                                void* const*, void**);
    status (*enqueue_fill)(queue, memory, const void* pattern, std::size_t pattern_bytes, std::size_t offset,
                           std::size_t bytes, waits, void* const*, void**);
    status (*enqueue_copy)(queue, memory from, memory to, std::size_t, std::size_t, std::size_t bytes, waits,
                           void* const*, void**);
    memory (*create_buffer)(_cl_context*, std::uint64_t flags, std::size_t bytes, void* host, status*);
    status (*release)(memory);
    void* (*enqueue_map)(queue, memory, std::uint32_t blocking, std::uint64_t flags, std::size_t offset,
                         std::size_t bytes, waits, void* const*, void**, status*);
    status (*enqueue_unmap)(queue, memory, void*, waits, void* const*, void**);
    status (*finish)(queue);
    _cl_context* (*create_context)(const void* properties, std::uint32_t devices, _cl_device_id* const*, void*, void*,
                                   status*);
    queue (*create_queue)(_cl_context*, _cl_device_id*, std::uint64_t properties, status*);
    status (*release_context)(_cl_context*);
    status (*release_queue)(queue);
    _cl_program* (*create_program)(_cl_context*, std::uint32_t sources, const char* const*, const std::size_t*,
                                   status*);
    status (*build_program)(_cl_program*, std::uint32_t devices, _cl_device_id* const*, const char* options, void*,
                            void*);
    status (*release_program)(_cl_program*);
    _cl_kernel* (*create_kernel)(_cl_program*, const char* name, status*);
    status (*release_kernel)(_cl_kernel*);
    status (*set_argument)(_cl_kernel*, std::uint32_t index, std::size_t bytes, const void*);
    status (*enqueue_kernel)(queue, _cl_kernel*, std::uint32_t dimensions, const std::size_t* offset,
                             const std::size_t* items, const std::size_t* group, waits, void* const*, void**);
};

template <class Function>
void find(Function& found, const char* name) {
    static void* const driver = ::dlopen("libOpenCL.so.1", RTLD_NOW);
    found = driver ? reinterpret_cast<Function>(::dlsym(driver, name)) : nullptr;
    if (!found) throw std::runtime_error(std::string("libOpenCL.so.1 has no ") + name);
}

const functions& api() {
    static const functions all = [] {
        functions found;
        find(found.enqueue_write, "clEnqueueWriteBuffer");
        find(found.enqueue_read, "clEnqueueReadBuffer");
        find(found.enqueue_write_rect, "clEnqueueWriteBufferRect");
        find(found.enqueue_read_rect, "clEnqueueReadBufferRect");
        find(found.enqueue_fill, "clEnqueueFillBuffer");
        find(found.enqueue_copy, "clEnqueueCopyBuffer");
        find(found.create_buffer, "clCreateBuffer");
        find(found.release, "clReleaseMemObject");
        find(found.enqueue_map, "clEnqueueMapBuffer");
        find(found.enqueue_unmap, "clEnqueueUnmapMemObject");
        find(found.finish, "clFinish");
        find(found.create_context, "clCreateContext");
        find(found.create_queue, "clCreateCommandQueue");
        find(found.release_context, "clReleaseContext");
        find(found.release_queue, "clReleaseCommandQueue");
        find(found.create_program, "clCreateProgramWithSource");
        find(found.build_program, "clBuildProgram");
        find(found.release_program, "clReleaseProgram");
        find(found.create_kernel, "clCreateKernel");
        find(found.release_kernel, "clReleaseKernel");
        find(found.set_argument, "clSetKernelArg");
        find(found.enqueue_kernel, "clEnqueueNDRangeKernel");
        return found;
    }();
    return all;
}

void check(status answer, const char* what) {
    if (answer != 0) throw std::runtime_error(std::string(what) + " by OpenCL failed: " + std::to_string(answer));
}

std::size_t host_pitch(const rectangle& of) noexcept { return of.packed ? of.row_bytes : of.pitch; }

}  // namespace

void write(queue on, memory to, std::span<const std::byte> from, std::size_t offset) {
    check(api().enqueue_write(on, to, yes, offset, from.size(), from.data(), 0, nullptr, nullptr), "a write");
}

void read(queue on, memory from, std::span<std::byte> to, std::size_t offset) {
    check(api().enqueue_read(on, from, yes, offset, to.size(), to.data(), 0, nullptr, nullptr), "a read");
}

void write_rectangle(queue on, memory to, const std::byte* host, const rectangle& of) {
    const std::size_t origin[] = {of.offset, 0, 0};
    const std::size_t host_origin[] = {of.packed ? 0 : of.offset, 0, 0};
    const std::size_t region[] = {of.row_bytes, of.rows, 1};
    check(api().enqueue_write_rect(on, to, yes, origin, host_origin, region, of.pitch, 0, host_pitch(of), 0, host, 0,
                                   nullptr, nullptr),
          "a write of a rectangle");
}

void read_rectangle(queue on, memory from, std::byte* host, const rectangle& of) {
    const std::size_t origin[] = {of.offset, 0, 0};
    const std::size_t host_origin[] = {of.packed ? 0 : of.offset, 0, 0};
    const std::size_t region[] = {of.row_bytes, of.rows, 1};
    check(api().enqueue_read_rect(on, from, yes, origin, host_origin, region, of.pitch, 0, host_pitch(of), 0, host, 0,
                                  nullptr, nullptr),
          "a read of a rectangle");
}

void fill(queue on, memory to, std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern) {
    check(api().enqueue_fill(on, to, pattern.data(), pattern.size(), offset, bytes, 0, nullptr, nullptr), "a fill");
}

void copy(queue on, memory from, memory to, std::size_t bytes) {
    check(api().enqueue_copy(on, from, to, 0, 0, bytes, 0, nullptr, nullptr), "a copy");
}

memory create(_cl_context* in, std::size_t bytes, void* host) {
    status answer = 0;
    memory const made = api().create_buffer(in, host ? read_write | use_host_ptr : read_write, bytes, host, &answer);
    check(answer, "an allocation");
    return made;
}

void release(memory gone) noexcept { api().release(gone); }

void* map(queue on, memory of, std::size_t bytes) {
    status answer = 0;
    void* const mapped = api().enqueue_map(on, of, yes, map_read | map_write, 0, bytes, 0, nullptr, nullptr, &answer);
    check(answer, "a map");
    return mapped;
}

void unmap(queue on, memory of, void* mapped) {
    check(api().enqueue_unmap(on, of, mapped, 0, nullptr, nullptr), "an unmap");
    finish(on);
}

_cl_context* create_context(_cl_device_id* on) {
    status answer = 0;
    _cl_context* const made = api().create_context(nullptr, 1, &on, nullptr, nullptr, &answer);
    check(answer, "a context");
    return made;
}

queue create_queue(_cl_context* in, _cl_device_id* on) {
    status answer = 0;
    queue const made = api().create_queue(in, on, 0, &answer);
    check(answer, "a queue");
    return made;
}

void release(_cl_context* gone) noexcept { api().release_context(gone); }
void release(queue gone) noexcept { api().release_queue(gone); }

void finish(queue on) { check(api().finish(on), "a wait"); }

kernel::kernel(_cl_context* in, _cl_device_id* on, const char* source, const char* name) {
    status failed = 0;
    program_ = api().create_program(in, 1, &source, nullptr, &failed);
    check(failed, "clCreateProgramWithSource");
    check(api().build_program(program_, 1, &on, "", nullptr, nullptr), "clBuildProgram");
    native_ = api().create_kernel(program_, name, &failed);
    check(failed, "clCreateKernel");
}

kernel::~kernel() {
    api().release_kernel(native_);
    api().release_program(program_);
}

void kernel::run(queue on, std::size_t items, std::span<const memory> arguments) const {
    for (std::uint32_t i = 0; i < arguments.size(); ++i)
        check(api().set_argument(native_, i, sizeof arguments[i], &arguments[i]), "clSetKernelArg");
    check(api().enqueue_kernel(on, native_, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
    finish(on);
}

}  // namespace bench::opencl
