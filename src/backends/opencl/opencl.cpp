// backends/opencl/opencl.cpp: finds the devices, and adopts the caller's.
#include "unibuf/opencl.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/opencl/device.hpp"
#include "backends/spaces.hpp"
#include "process/lasting.hpp"
#include "process/mutex.hpp"

namespace unibuf::backends {
namespace cl {
namespace {

std::string platform_name_of(cl_platform_id platform) {
    char name[256] = {};
    const cl_int status = api().clGetPlatformInfo(platform, platform_name, sizeof name - 1, name, nullptr);
    return status == success ? name : "a platform without a name";
}

std::vector<cl_platform_id> platforms() {
    cl_uint count = 0;
    cl_int status = api().clGetPlatformIDs(0, nullptr, &count);
    if (status == platform_not_found) count = 0;
    std::vector<cl_platform_id> found(count);
    if (count != 0) status = api().clGetPlatformIDs(count, found.data(), nullptr);
    if (status != success && status != platform_not_found) {
        fail(status, "OpenCL cannot list its platforms", error_code::device_unavailable);
    }
    return found;
}

std::vector<cl_device_id> devices_of(cl_platform_id platform) {
    cl_uint count = 0;
    if (api().clGetDeviceIDs(platform, device_type_all, 0, nullptr, &count) != success) return {};
    std::vector<cl_device_id> found(count);
    if (count == 0 || api().clGetDeviceIDs(platform, device_type_all, count, found.data(), nullptr) != success)
        return {};
    return found;
}

std::string without_device(const std::string& platform) {
    const char* const cure =
        platform == "rusticl" ? ": RUSTICL_ENABLE names the drivers that it may use, as radeonsi" : "";
    return platform + " has no device" + cure;
}

discovery discover() {
    discovery result;
    std::vector<std::string> reasons;
    for (const cl_platform_id platform : platforms()) {
        const std::string name = platform_name_of(platform);
        const std::vector<cl_device_id> devices = devices_of(platform);
        if (devices.empty()) reasons.push_back(without_device(name));
        for (const cl_device_id device : devices) {
            try {
                result.devices.push_back(std::make_unique<compute_device>(device, facts_of(device, name)));
            } catch (const error& refused) {
                reasons.emplace_back(refused.message());
            }
        }
    }
    // What one platform lacks is told beside the devices of others.
    result.unavailable = fmt::format("{}", fmt::join(reasons, "; "));
    if (result.devices.empty() && reasons.empty()) {
        result.unavailable = "no OpenCL platform is installed (pocl-opencl-icd is one for any CPU)";
    }
    return result;
}

void check(const opencl::handles& callers) {
    const auto refuse = [](const char* why) { throw error(error_code::invalid_argument, why); };
    if (!callers.context || !callers.device) {
        refuse("a space is made of an OpenCL context and a device; one of them is null");
    }
    if (!callers.queue) return;
    if (queue_info<cl_context>(callers.queue, queue_context) != callers.context) {
        refuse("the OpenCL queue belongs to another context");
    }
    if (queue_info<cl_device_id>(callers.queue, queue_device) != callers.device) {
        refuse("the OpenCL queue belongs to another device");
    }
    check_is_of_host(callers.queue);
}

/// Makes a device of what the caller has, with a queue of its own where the caller brings none.
std::unique_ptr<compute_device> adopt(opencl::handles callers) {
    const facts known = facts_of(callers.device, "the caller's context");
    if (callers.queue) return std::make_unique<compute_device>(callers, known);
    cl_int status = success;
    callers.queue = api().clCreateCommandQueue(callers.context, callers.device, 0, &status);
    if (status != success) {
        fail(status, "no OpenCL queue can be made for this context and device", error_code::invalid_argument);
    }
    const std::unique_ptr<_cl_command_queue, cl_int (*)(cl_command_queue)> own(callers.queue,
                                                                               api().clReleaseCommandQueue);
    return std::make_unique<compute_device>(callers, known);  // retains it
}

/// Returns the space that works with the caller's handles already.
std::optional<space> adopted(const opencl::handles& callers) {
    for (const space each : spaces_of(callers.context)) {
        const opencl::handles& its = device_at(each).in_use()->handles();
        if (its.device == callers.device && (!callers.queue || its.queue == callers.queue)) return each;
    }
    return std::nullopt;
}

cl_uint references_of(cl_context to) {
    cl_uint count = 0;
    const cl_int status = api().clGetContextInfo(to, context_reference_count, sizeof count, &count, nullptr);
    if (status != success) fail(status, "an OpenCL context does not say who has it");
    return count;
}

/// Returns whether the driver counts the queues of a context among those who have it.
bool queues_count(const opencl::handles& of) {
    const cl_uint before = references_of(of.context);
    cl_int status = success;
    const cl_command_queue one_more = api().clCreateCommandQueue(of.context, of.device, 0, &status);
    if (status != success) return false;
    const cl_uint with_it = references_of(of.context);
    api().clReleaseCommandQueue(one_more);
    return with_it != before;
}

/// Returns whether nobody but these spaces has their context, which the program brought, and no memory is left in it.
bool is_abandoned(std::span<const space> all) {
    const opencl::handles& shared = device_at(all.front()).in_use()->handles();
    const cl_uint for_a_queue = queues_count(shared) ? 1 : 0;
    cl_uint ours = 0;
    for (const space each : all) {
        const auto queues = static_cast<cl_uint>(device_at(each).in_use()->queues_left_alone());
        if (queues == 0 || each.id() == detail::default_space) return false;
        ours += 1 + queues * for_a_queue;
    }
    return references_of(shared.context) == ours;
}

/// Gives back the spaces of all contexts that the program brought, and has released since.
void give_back_abandoned() {
    std::vector<cl_context> looked_at;
    for (std::size_t id = 0; id < count_of_spaces(); ++id) {
        auto* const found = dynamic_cast<compute_device*>(&device_of(space::from_id(static_cast<std::uint8_t>(id))));
        if (!found || !found->is_adopted() || !found->in_use()) continue;
        const cl_context its = found->in_use()->handles().context;
        if (std::ranges::find(looked_at, its) != looked_at.end()) continue;
        looked_at.push_back(its);
        const std::vector<space> all = spaces_of(its);
        if (!is_abandoned(all)) continue;
        for (const space each : all) {
            device_at(each).leave();
            limit_memory(each, no_memory_limit);
            give_back(each);
        }
    }
}

}  // namespace

compute_device& device_at(space where) {
    auto* found = dynamic_cast<compute_device*>(&device_of(where));
    if (!found) throw error(error_code::invalid_argument, where.name() + " is no OpenCL space");
    return *found;
}

std::vector<space> spaces_of(cl_context known) {
    std::vector<space> result;
    for (std::size_t id = 0; id < count_of_spaces(); ++id) {
        const space each = space::from_id(static_cast<std::uint8_t>(id));
        const auto* const device = dynamic_cast<const compute_device*>(&device_of(each));
        const context* const used = device ? device->in_use() : nullptr;
        if (used && used->handles().context == known) result.push_back(each);
    }
    return result;
}

}  // namespace cl

discovery discover_opencl() {
    if (!cl::missing().empty()) return {.devices = {}, .unavailable = cl::missing()};
    try {
        return cl::discover();
    } catch (const error& failed) {
        return {.devices = {}, .unavailable = std::string(failed.message())};
    }
}

}  // namespace unibuf::backends

namespace unibuf::opencl {

using namespace backends;

void add_queue(space where, _cl_command_queue* native) {
    if (!native) throw error(error_code::invalid_argument, "a queue of " + where.name() + " was named that is null");
    cl::device_at(where).in().identify(queue_of(native));
}

handles handles_of(space where) { return cl::device_at(where).in().handles(); }

space use(_cl_context* context, _cl_device_id* device, _cl_command_queue* queue) {
    handles callers{context, device, queue};
    cl::check(callers);
    const bool is_unordered =
        queue && cl::queue_info<cl::cl_bitfield>(queue, cl::queue_properties) & cl::queue_out_of_order;
    if (is_unordered) callers.queue = nullptr;  // the space gets a queue of its own, and knows this one beside it

    static process::lasting<process::mutex> mutex(process::mutex::rank::renewed);
    const std::lock_guard lock(*mutex);
    // Devices are looked for first, so that "opencl:0" means the same whether somebody adopted before or not.
    try {
        [[maybe_unused]] const space found("opencl:0");
    } catch (const error&) {
    }
    std::optional<space> result = cl::adopted(callers);
    if (!result) {
        if (count_of_spaces() == max_spaces) cl::give_back_abandoned();
        result = add_space("opencl", cl::adopt(callers));
    }
    if (is_unordered) add_queue(*result, queue);
    return *result;
}

_cl_mem* memory(const native_memory& copy) {
    cl::device_at(copy.where);
    return reinterpret_cast<_cl_mem*>(copy.handle);
}

}  // namespace unibuf::opencl

namespace unibuf::detail {

void also_load_opencl_from(std::string folder) { backends::cl::also_load_from(std::move(folder)); }

}  // namespace unibuf::detail
