// backends/opencl/device.cpp: what a device can do, and its memory.
#include "backends/opencl/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "backends/opencl/alias.hpp"
#include "process/lasting.hpp"
#include "process/mutex.hpp"
#include "process/starting_driver.hpp"
#include "system/pages.hpp"

namespace unibuf::backends::cl {
namespace {

std::string text(cl_device_id device, cl_uint what) {
    std::size_t bytes = 0;
    if (api().clGetDeviceInfo(device, what, 0, nullptr, &bytes) != success || bytes == 0) return {};
    std::string value(bytes, '\0');
    if (api().clGetDeviceInfo(device, what, bytes, value.data(), nullptr) != success) return {};
    value.resize(value.find_last_not_of(std::string_view(" \0", 2)) + 1);  // drivers pad names
    return value;
}

/// Reads "OpenCL <major>.<minor> <the driver's own>".
bool at_least_1_2(const std::string& version) {
    int major = 0;
    int minor = 0;
    const int found = std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor);
    return found == 2 && (major > 1 || (major == 1 && minor >= 2));
}

}  // namespace

facts facts_of(cl_device_id device, const std::string& platform) {
    const std::string name = fmt::format("{} ({})", text(device, device_name), platform);
    const auto refuse = [&](const std::string& why) { throw error(error_code::device_unavailable, name + " " + why); };
    if (!info<cl_bool>(device, device_available, no)) refuse("says that it is not available");
    const std::string version = text(device, device_version);
    if (!at_least_1_2(version)) refuse(fmt::format("has \"{}\"; OpenCL 1.2 is needed", version));

    // The question is deprecated since OpenCL 2.0, and still answered.
    const bool cpu = (info<cl_bitfield>(device, device_type, 0) & device_type_cpu) != 0;
    const bool unified = cpu || info<cl_bool>(device, device_host_unified_memory, no) != no;

    facts known;
    known.about.description = name;
    known.about.own_memory = !unified;
    // A device with memory of its own would copy behind the scenes, uncounted, which is no sharing.
    known.about.aliases_host = unified;
    known.about.aliases_constant = cpu;
    known.about.aliases_lines = cpu;  // a CPU reads memory where it is, while GPUs map pages
    known.about.asynchronous = true;
    known.about.ends_with_fork = true;
    known.about.retains_queues = true;
    known.about.frees_behind_work = true;  // clReleaseMemObject: it goes when the commands that use it have finished
    known.about.memory_bytes = info<cl_ulong>(device, device_global_mem_size, 0);
    known.about.properties = {
        {"platform", platform},
        {"version", version},
        {"compute units", fmt::format("{}", info<cl_uint>(device, device_max_compute_units, 0))},
    };
    known.largest_allocation = static_cast<std::size_t>(info<cl_ulong>(device, device_max_mem_alloc_size, 0));
    known.alias_alignment = cpu ? 64 : system::page_size();  // vectors need no more than a cache line
    return known;
}

compute_device::compute_device(const opencl::handles& callers, facts known)
    : native_(callers.device),
      known_(std::move(known)),
      is_adopted_(true),
      context_(new context(callers, known_.about.description)) {}

context& compute_device::in() {
    if (context* made = context_.load(std::memory_order_acquire)) return *made;
    if (has_ended_) {
        throw error(error_code::device_unavailable,
                    fmt::format("{}: its space has ended, as the program has released its context: see opencl::use",
                                known_.about.description));
    }
    const std::lock_guard lock(mutex_);
    const process::starting_driver until_it_is_made;  // after the lock: who waits for that starts nothing
    if (!context_.load(std::memory_order_relaxed)) {
        context_.store(new context(native_, known_.about.description), std::memory_order_release);
    }
    return *context_.load(std::memory_order_relaxed);
}

numbered_mem compute_device::create_buffer(std::size_t bytes, cl_bitfield flags, void* host) {
    if (bytes > known_.largest_allocation) {
        throw error(error_code::out_of_memory,
                    fmt::format("{}: {} bytes were asked for in one allocation; it allows {}", known_.about.description,
                                bytes, known_.largest_allocation));
    }
    static process::lasting<process::mutex> in_order(process::mutex::rank::renewed);
    static std::uint64_t last = 0;
    const std::scoped_lock lock(*in_order);
    cl_int status = success;
    const cl_mem made = api().clCreateBuffer(in().handles().context, flags, bytes, host, &status);
    if (status != success) {
        fail(status, fmt::format("{}: an allocation of {} bytes was asked for", known_.about.description, bytes),
             error_code::out_of_memory);
    }
    return {made, ++last};
}

bool compute_device::works_in_place() {
    if (known_.about.aliases_lines) std::call_once(tried_in_place_, [this] { works_in_place_ = try_in_place(); });
    return works_in_place_;
}

/// Lets the device copy what the host has written behind the driver's back, and write what the host then reads so.
bool compute_device::try_in_place() {
    constexpr std::size_t line = 64;
    alignas(2 * line) std::array<unsigned char, 2 * line> block{};
    unsigned char* const host = &block[line];  // aligned to no more than what the device asks for
    const cl_context context = in().handles().context;
    cl_int status = success;
    const auto is_fine = [&] { return status == success; };
    const std::array memories{
        api().clCreateBuffer(context, mem_read_write | mem_use_host_ptr, line, host, &status),
        is_fine() ? api().clCreateBuffer(context, mem_read_write, line, nullptr, &status) : nullptr};
    const cl_command_queue queue =
        is_fine() ? api().clCreateCommandQueue(context, in().handles().device, 0, &status) : nullptr;
    const auto copy = [&](std::size_t from, std::size_t to) {
        if (!is_fine()) return;
        status = api().clEnqueueCopyBuffer(queue, memories[from], memories[to], 0, 0, line, 0, nullptr, nullptr);
        if (is_fine()) status = api().clFinish(queue);
    };
    const auto set_host = [&](unsigned char value) { std::memset(host, value, line); };
    bool result = true;
    for (const unsigned char value :
         std::array<unsigned char, 2>{1, 2}) {  // a driver may take the bytes once, when it first needs them
        set_host(value);
        copy(0, 1);
        set_host(0);
        copy(1, 0);
        result =
            result && is_fine() && std::all_of(host, host + line, [&](unsigned char each) { return each == value; });
    }
    for (const cl_mem each : memories) {
        if (each) api().clReleaseMemObject(each);
    }
    if (queue) api().clReleaseCommandQueue(queue);
    return result;
}

std::unique_ptr<memory> compute_device::allocate(const allocation_request& what) {
    return std::make_unique<allocation>(in(), create_buffer(what.bytes, mem_read_write, nullptr), what.bytes);
}

std::unique_ptr<memory> compute_device::alias(std::span<std::byte> host, const allocation_request& what) {
    if (!known_.about.aliases_host) return device::alias(host, what);
    const auto address = reinterpret_cast<std::uintptr_t>(host.data());
    if (address % known_.alias_alignment != 0) {
        throw error(error_code::unsupported,
                    fmt::format("{} can use host memory in place from multiples of {} bytes on; {} bytes at {:#x} were "
                                "asked for",
                                known_.about.description, known_.alias_alignment, host.size(), address));
    }
    if (what.access == host_access::constant && !works_in_place()) {
        throw error(error_code::unsupported,
                    known_.about.description + " works on copies of host memory, and writes them back to it");
    }
    // GPUs take whole cache lines, or copy. A page-aligned block has the rest of its last line for itself.
    const std::size_t line = known_.alias_alignment == 64 ? 1 : 64;
    const std::size_t bytes = (host.size() + line - 1) / line * line;
    return std::make_unique<cl::alias>(*this, host, bytes);
}

void compute_device::move_many(direction way, std::span<const move_of> moves, fences& done) {
    if (!in().runs_native_functions()) return device::move_many(way, moves, done);
    const context::target commands = in().queue_for({});
    event copied;
    const cl_int status = enqueue_copies(commands.queue, moves, way, copied);
    if (status != success) fail(status, fmt::format("{}: {} copies were asked for", about().description, moves.size()));
    done.push_back(in().submitted(commands, std::move(copied)));
}

std::uint64_t compute_device::identify(queue on) { return in().identify(on); }

fence compute_device::record(queue on) { return in().record(on); }

fence compute_device::record_later(queue on) { return in().end_of(on); }

queue compute_device::own_queue() { return {in().idle_queue()}; }

bool compute_device::order(const fence& before, queue on) { return in().order(before, on); }

}  // namespace unibuf::backends::cl
