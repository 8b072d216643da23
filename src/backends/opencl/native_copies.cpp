// backends/opencl/native_copies.cpp: many copies as one command.
#include "backends/opencl/native_copies.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>
#include <vector>

#include "backends/copy_parts.hpp"
#include "backends/opencl/allocation.hpp"

namespace unibuf::backends::cl {
namespace {

struct copies_of_parts {
    std::byte* host;
    std::vector<part> parts;
    direction way;

    void run(std::byte* memory) const {
        const bool writes = way == direction::to_device;
        copy_parts(parts, writes ? memory : host, writes ? host : memory);
    }
};

struct copy_of_rows {
    std::byte* host;
    rectangle_copy rows;
    direction way;

    void run(std::byte* memory) const {
        way == direction::to_device ? copy_rows(rows, memory, host) : copy_rows(rows.turned(), host, memory);
    }
};

/// The block that the driver copies, and puts the address of the memory in.
template <class Copy>
struct arguments {
    void* memory;
    Copy* what;
};

template <class Copy>
void run(void* block) {
    const auto* const given = static_cast<const arguments<Copy>*>(block);
    const std::unique_ptr<const Copy> what(given->what);
    what->run(static_cast<std::byte*>(given->memory));
}

template <class Copy>
cl_int enqueue_copy(cl_command_queue queue, cl_mem memory, std::unique_ptr<Copy> what, event& done) {
    arguments<Copy> block{nullptr, what.get()};
    const void* place = &block.memory;
    const cl_int status =
        api().clEnqueueNativeKernel(queue, run<Copy>, &block, sizeof block, 1, &memory, &place, 0, nullptr, done.out());
    if (status == success) std::ignore = what.release();  // the function, which runs once, owns it now
    return status;
}

/// Copies between the host and memories. In the block, the addresses of these memories stand behind the pointer to
/// this, in order: moves of one memory are side by side.
struct scattered_copies {
    std::vector<move_of> moves;
    direction way;
};

void run_scattered(void* block) {
    auto* const* given = static_cast<void* const*>(block);
    const std::unique_ptr<const scattered_copies> what(static_cast<const scattered_copies*>(given[0]));
    const memory* last = nullptr;
    for (const move_of& each : what->moves) {
        if (each.of != last) ++given;
        last = each.of;
        std::byte* const at = static_cast<std::byte*>(*given) + each.offset;
        const bool writes = what->way == direction::to_device;
        std::memcpy(writes ? at : each.host.data(), writes ? each.host.data() : at, each.host.size());
    }
}

}  // namespace

bool runs_native_functions(cl_device_id device) {
    cl_bitfield can = 0;
    const cl_int status = api().clGetDeviceInfo(device, device_execution_capabilities, sizeof can, &can, nullptr);
    return status == success && (can & exec_native_kernel) != 0;
}

cl_int enqueue_copies(cl_command_queue queue, cl_mem memory, std::byte* host, std::span<const part> parts,
                      direction way, event& done) {
    return enqueue_copy(queue, memory,
                        std::make_unique<copies_of_parts>(copies_of_parts{host, {parts.begin(), parts.end()}, way}),
                        done);
}

cl_int enqueue_copies(cl_command_queue queue, cl_mem memory, std::byte* host, const rectangle_copy& rows, direction way,
                      event& done) {
    return enqueue_copy(queue, memory, std::make_unique<copy_of_rows>(copy_of_rows{host, rows, way}), done);
}

cl_int enqueue_copies(cl_command_queue queue, std::span<const move_of> moves, direction way, event& done) {
    auto what = std::make_unique<scattered_copies>(scattered_copies{{moves.begin(), moves.end()}, way});
    // PoCL lists memories in the order in which they were made, and each once, but leaves the places of their addresses
    // as they were: in another order, bytes would go to another memory, and to address 0 where one is listed again.
    const auto number = [](const move_of& each) { return static_cast<const allocation*>(each.of)->number(); };
    if (!std::ranges::is_sorted(what->moves, {}, number)) std::ranges::sort(what->moves, {}, number);
    std::vector<cl_mem> memories;
    memories.reserve(moves.size());
    const memory* last = nullptr;
    for (const move_of& each : what->moves) {
        if (each.of != last) memories.push_back(reinterpret_cast<cl_mem>(each.of->handle()));
        last = each.of;
    }
    std::vector<void*> block(1 + memories.size());
    block[0] = what.get();
    std::vector<const void*> places(memories.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = &block[1 + i];
    const cl_int status = api().clEnqueueNativeKernel(
        queue, run_scattered, block.data(), block.size() * sizeof block[0], static_cast<cl_uint>(memories.size()),
        memories.data(), places.data(), 0, nullptr, done.out());
    if (status == success) std::ignore = what.release();
    return status;
}

}  // namespace unibuf::backends::cl
