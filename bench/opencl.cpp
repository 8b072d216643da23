// bench/opencl.cpp
#include "opencl.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace bench::opencl {
namespace {

/// The type of clEnqueueWriteBuffer and clEnqueueReadBuffer, which differ in whether `bytes` is const.
using enqueue_copy = std::int32_t(_cl_command_queue*, _cl_mem*, std::uint32_t blocking, std::size_t offset,
                                  std::size_t bytes, const void* host, std::uint32_t waits, void* const* wait_for,
                                  void** event);

enqueue_copy* find(const char* name) {
    void* const driver = ::dlopen("libOpenCL.so.1", RTLD_NOW);
    void* const found = driver ? ::dlsym(driver, name) : nullptr;
    if (!found) throw std::runtime_error(std::string("libOpenCL.so.1 has no ") + name);
    return reinterpret_cast<enqueue_copy*>(found);
}

void copy(enqueue_copy* enqueue, _cl_command_queue* queue, _cl_mem* memory, std::span<const std::byte> host) {
    constexpr std::uint32_t blocking = 1;
    if (enqueue(queue, memory, blocking, 0, host.size(), host.data(), 0, nullptr, nullptr) != 0) {
        throw std::runtime_error("a copy by OpenCL failed");
    }
}

}  // namespace

void write(_cl_command_queue* queue, _cl_mem* to, std::span<const std::byte> from) {
    static enqueue_copy* const enqueue = find("clEnqueueWriteBuffer");
    copy(enqueue, queue, to, from);
}

void read(_cl_command_queue* queue, _cl_mem* from, std::span<std::byte> to) {
    static enqueue_copy* const enqueue = find("clEnqueueReadBuffer");
    copy(enqueue, queue, from, to);
}

}  // namespace bench::opencl
