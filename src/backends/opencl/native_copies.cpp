// backends/opencl/native_copies.cpp
#include "backends/opencl/native_copies.hpp"

#include <memory>
#include <tuple>
#include <vector>

#include "backends/copy_parts.hpp"

namespace unibuf::backends::cl {
namespace {

struct copies {
    std::byte* host;
    std::vector<part> parts;
    direction way;
};

/// The driver copies it, and puts the address of the memory in.
struct arguments {
    void* memory;
    copies* todo;
};

void run(void* block) {
    const auto* const given = static_cast<const arguments*>(block);
    const std::unique_ptr<const copies> todo(given->todo);
    auto* const memory = static_cast<std::byte*>(given->memory);
    const bool writes = todo->way == direction::to_device;
    copy_parts(todo->parts, writes ? memory : todo->host, writes ? todo->host : memory);
}

}  // namespace

bool runs_native_functions(cl_device_id device) {
    cl_bitfield can = 0;
    const cl_int status = api().clGetDeviceInfo(device, device_execution_capabilities, sizeof can, &can, nullptr);
    return status == success && (can & exec_native_kernel) != 0;
}

cl_int enqueue_copies(cl_command_queue queue, cl_mem memory, std::byte* host, std::span<const part> parts,
                      direction way, event& done) {
    auto todo = std::make_unique<copies>(copies{host, {parts.begin(), parts.end()}, way});
    arguments block{nullptr, todo.get()};
    const void* place = &block.memory;
    const cl_int status =
        api().clEnqueueNativeKernel(queue, run, &block, sizeof block, 1, &memory, &place, 0, nullptr, done.out());
    if (status == success) std::ignore = todo.release();  // to the function, which runs once
    return status;
}

}  // namespace unibuf::backends::cl
