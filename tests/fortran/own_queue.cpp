// own_queue.cpp: an OpenCL context and queue as a Fortran program might have them, and its own calls on that queue.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "system/loader.hpp"

namespace {

using unibuf::system::library;

/// The program's own way to OpenCL.
template <class Function>
Function* cl(const char* name) {
    static const library opencl({"libOpenCL.so.1"});
    Function* found = nullptr;
    if (!opencl.find(name, found)) throw std::runtime_error(std::string("no ") + name);
    return found;
}

constexpr std::uint64_t all_types = 0xFFFFFFFF;     // CL_DEVICE_TYPE_ALL
constexpr unsigned memory_context = 0x1106;         // CL_MEM_CONTEXT
constexpr unsigned queue_reference_count = 0x1092;  // CL_QUEUE_REFERENCE_COUNT

}  // namespace

extern "C" {

int test_make_queue(void** context, void** device, void** queue) {
    try {
        std::array<void*, 16> platforms{};
        unsigned count = 0;
        int status =
            cl<int(unsigned, void**, unsigned*)>("clGetPlatformIDs")(platforms.size(), platforms.data(), &count);
        *device = nullptr;
        for (unsigned i = 0; i < std::min<unsigned>(count, platforms.size()) && !*device; ++i) {
            cl<int(void*, std::uint64_t, unsigned, void**, unsigned*)>("clGetDeviceIDs")(platforms[i], all_types, 1,
                                                                                         device, nullptr);
        }
        if (status != 0 || !*device) return 0;
        *context = cl<void*(const std::intptr_t*, unsigned, void* const*, void*, void*, int*)>("clCreateContext")(
            nullptr, 1, device, nullptr, nullptr, &status);
        if (status != 0) return 0;
        *queue = cl<void*(void*, void*, std::uint64_t, int*)>("clCreateCommandQueue")(*context, *device, 0, &status);
        return status == 0 ? 1 : 0;
    } catch (const std::exception&) {
        return 0;
    }
}

void* test_context_of(void* memory) {
    void* context = nullptr;
    cl<int(void*, unsigned, std::size_t, void*, std::size_t*)>("clGetMemObjectInfo")(memory, memory_context,
                                                                                     sizeof context, &context, nullptr);
    return context;
}

int test_users_of_queue(void* queue) {
    unsigned count = 0;
    cl<int(void*, unsigned, std::size_t, void*, std::size_t*)>("clGetCommandQueueInfo")(queue, queue_reference_count,
                                                                                        sizeof count, &count, nullptr);
    return static_cast<int>(count);
}

/// Fills a cl_mem on the queue, and does not wait.
void test_fill(void* queue, void* memory, int value, std::int64_t bytes) {
    cl<int(void*, void*, const void*, std::size_t, std::size_t, std::size_t, unsigned, void*, void*)>(
        "clEnqueueFillBuffer")(queue, memory, &value, sizeof value, 0, static_cast<std::size_t>(bytes), 0, nullptr,
                               nullptr);
}

void test_finish(void* queue) { cl<int(void*)>("clFinish")(queue); }

}  // extern "C"
