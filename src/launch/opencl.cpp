// launch/opencl.cpp: kernels that are run on buffers.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "backends/opencl/device.hpp"
#include "containers/room.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/opencl.hpp"

namespace unibuf::opencl {
namespace {

using namespace backends::cl;

template <class Value>
Value kernel_info(cl_kernel kernel, cl_uint what) {
    Value value{};
    const cl_int status = kernel ? api().clGetKernelInfo(kernel, what, sizeof value, &value, nullptr) : invalid_kernel;
    if (status != success) fail(status, "OpenCL does not know this kernel", error_code::invalid_argument);
    return value;
}

std::string name_of(cl_kernel kernel) {
    char name[256] = {};
    const cl_int status = api().clGetKernelInfo(kernel, kernel_function_name, sizeof name - 1, name, nullptr);
    return status == success ? fmt::format("the kernel '{}'", name) : "a kernel with a long name";
}

void check_number(cl_kernel kernel, std::size_t given) {
    const auto taken = kernel_info<cl_uint>(kernel, kernel_num_args);
    if (given == taken) return;
    throw error(error_code::invalid_argument,
                fmt::format("{} takes {} arguments; {} were given", name_of(kernel), taken, given));
}

std::string describe(cl_kernel kernel, std::size_t index) {
    return fmt::format("argument {} of {}", index, name_of(kernel));
}

[[noreturn]] void refuse(cl_kernel kernel, std::size_t index, const std::string& why) {
    throw error(error_code::invalid_argument, describe(kernel, index) + ' ' + why);
}

void set(cl_kernel kernel, std::size_t index, const void* value, std::size_t bytes) {
    const cl_int status = api().clSetKernelArg(kernel, static_cast<cl_uint>(index), bytes, value);
    if (status == success) return;
    fail(status, fmt::format("{}: {} bytes were given", describe(kernel, index), bytes), error_code::invalid_argument);
}

void set(cl_kernel kernel, std::size_t index, cl_mem memory) { set(kernel, index, &memory, sizeof memory); }

/// Sets an argument that is no memory of a buffer.
void set_value(cl_kernel kernel, std::size_t index, const argument& given) {
    set(kernel, index, given.value(), given.bytes());
}

/// The parts of cl_mems that a kernel works on, until it is on its queue: from then on OpenCL keeps them.
class parts {
public:
    explicit parts(context& in) : in_(in) {}
    ~parts() {
        for (const cl_mem each : made_) api().clReleaseMemObject(each);
    }
    parts(const parts&) = delete;
    parts& operator=(const parts&) = delete;

    /// Returns a cl_mem that begins where the memory does that is given as argument `index`.
    cl_mem of(const native_memory& given, cl_kernel kernel, std::size_t index) {
        const cl_mem whole = opencl::memory(given);
        if (given.offset == 0 || given.bytes == 0) return whole;
        const auto bits = info<cl_uint>(in_.handles().device, device_mem_base_addr_align, 8);
        if (given.offset % (bits / 8) != 0) {
            refuse(
                kernel, index,
                fmt::format("begins at byte {} of its copy; {} takes multiples of {}: pass the whole buffer, and the "
                            "offset as a number",
                            given.offset, in_.description(), bits / 8));
        }
        make_room(made_);
        const buffer_region region{.origin = given.offset, .bytes = given.bytes};
        cl_int status = success;
        const cl_mem part = api().clCreateSubBuffer(whole, 0, buffer_create_type_region, &region, &status);
        if (status != success) {
            fail(status, describe(kernel, index) + ": no sub-buffer can be made", error_code::unsupported);
        }
        made_.push_back(part);
        return part;
    }

private:
    context& in_;
    std::vector<cl_mem> made_;
};

void run(cl_command_queue queue, cl_kernel kernel, const nd_range& items) {
    const nd_range::extent& all = items.items();
    const std::optional<nd_range::extent>& groups = items.group();
    const std::size_t* const group = groups ? groups->in.data() : nullptr;
    const cl_int status =
        api().clEnqueueNDRangeKernel(queue, kernel, all.dimensions, nullptr, all.in.data(), group, 0, nullptr, nullptr);
    if (status != success) fail(status, name_of(kernel) + " was to be run", error_code::invalid_argument);
}

}  // namespace

space space_of(_cl_kernel* kernel) {
    const std::vector<space> found = spaces_of(kernel_info<cl_context>(kernel, kernel_context));
    if (found.size() == 1) return found[0];
    if (found.empty()) {
        throw error(error_code::invalid_argument,
                    name_of(kernel) + " is of a context that is no space: opencl::use makes one of it");
    }
    throw error(error_code::invalid_argument, fmt::format("{} is of the context of {} and {}: name one of them",
                                                          name_of(kernel), found[0].name(), found[1].name()));
}

namespace detail {

void set_arguments(_cl_kernel* kernel, std::span<const argument> arguments) {
    check_number(kernel, arguments.size());
    const std::vector<space> known = spaces_of(kernel_info<cl_context>(kernel, kernel_context));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const argument& each = arguments[i];
        if (each.wanted()) refuse(kernel, i, "is an access that nobody has taken: pass its lease, or call enqueue");
        if (!each.memory()) {
            set_value(kernel, i, each);
            continue;
        }
        const native_memory& given = *each.memory();
        if (std::ranges::find(known, given.where) == known.end()) {
            refuse(kernel, i, "is a lease at " + given.where.name() + ", which is not of the kernel's context");
        }
        if (given.offset != 0) {
            refuse(kernel, i,
                   fmt::format("begins at byte {} of its copy: pass the whole buffer, and the offset as a number; or "
                               "call enqueue",
                               given.offset));
        }
        set(kernel, i, opencl::memory(given));
    }
}

void enqueue(space where, _cl_kernel* kernel, const nd_range& items, std::span<const argument> arguments) {
    context& in = device_at(where).in();
    const cl_command_queue queue = in.handles().queue;
    check_number(kernel, arguments.size());
    std::vector<wanted_byte_lease> wanted;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        // The lease may be on another queue, and what comes after it there is not ordered behind this kernel.
        if (arguments[i].memory()) refuse(kernel, i, "is a lease: pass the access, or call set_arguments");
        const wanted_access* const each = arguments[i].wanted();
        if (!each) continue;
        if (each->options.on) refuse(kernel, i, "names a queue; a kernel is put on the one of " + where.name());
        wanted.push_back({each->of, where, each->what, each->options});
        wanted.back().options.on = queue_of(queue);
    }
    std::vector<byte_lease> taken(wanted.size());
    lease_together(wanted, taken, [&] {
        parts of(in);
        auto next = taken.cbegin();
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            const wanted_access* const each = arguments[i].wanted();
            if (!each) {
                set_value(kernel, i, arguments[i]);
                continue;
            }
            native_memory memory = (next++)->native();
            memory.offset -= each->options.offset;
            memory.bytes = each->of->size_bytes();
            set(kernel, i, of.of(memory, kernel, i));
        }
        run(queue, kernel, items);
    });
    in.start(queue);
}

}  // namespace detail
}  // namespace unibuf::opencl
