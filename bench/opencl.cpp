// bench/opencl.cpp
#include "opencl.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>

namespace bench::opencl {
namespace {

using enqueue_write_buffer = std::int32_t(_cl_command_queue*, _cl_mem*, std::uint32_t blocking, std::size_t offset,
                                          std::size_t bytes, const void* from, std::uint32_t waits,
                                          void* const* wait_for, void** event);

enqueue_write_buffer* find() {
    void* const driver = ::dlopen("libOpenCL.so.1", RTLD_NOW);
    void* const found = driver ? ::dlsym(driver, "clEnqueueWriteBuffer") : nullptr;
    if (!found) throw std::runtime_error("libOpenCL.so.1 has no clEnqueueWriteBuffer");
    return reinterpret_cast<enqueue_write_buffer*>(found);
}

}  // namespace

void write(_cl_command_queue* queue, _cl_mem* to, std::span<const std::byte> from) {
    static enqueue_write_buffer* const enqueue = find();
    constexpr std::uint32_t blocking = 1;
    if (enqueue(queue, to, blocking, 0, from.size(), from.data(), 0, nullptr, nullptr) != 0) {
        throw std::runtime_error("clEnqueueWriteBuffer failed");
    }
}

}  // namespace bench::opencl
