// control.cpp: the procedures of gpu_buffer_control.
#include <ISO_Fortran_binding.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unibuf/error.hpp>
#include <unibuf/guard.hpp>
#include <unibuf/opencl.hpp>
#include <unibuf/registry.hpp>
#include <unibuf/space.hpp>
#include <unibuf/statistics.hpp>
#include <unibuf/trace.hpp>
#include <vector>

#include "creation.hpp"
#include "options.hpp"
#include "report.hpp"
#include "section.hpp"
#include "unified.hpp"

namespace unibuf::fortran {
namespace {

/// Returns the bytes of an array of the program's own.
std::span<std::byte> memory_of(const CFI_cdesc_t& array) {
    const section all(array);
    const std::size_t bytes = size_of(static_cast<std::int64_t>(all.bytes()));
    if (const std::byte* const data = all.contiguous()) return {const_cast<std::byte*>(data), bytes};
    throw error(error_code::invalid_argument,
                "a buffer over a section was asked for, whose elements lie apart: pass a contiguous array");
}

std::vector<std::string> available_devices() {
    std::vector<std::string> names;
    for (const device_info& each : devices()) {
        if (each.available) names.push_back(each.name);
    }
    return names;
}

/// Returns the space of that name; nothing where the name is absent.
std::optional<space> named(const CFI_cdesc_t* name) {
    return name && name->base_addr ? std::optional(gpu_named(text_of(name))) : std::nullopt;
}

thread_local std::vector<std::unique_ptr<transfer_guard>> guards;

thread_local std::vector<std::string> listed;  // by the last call of unibuf_fortran_device_count

}  // namespace
}  // namespace unibuf::fortran

using namespace unibuf::fortran;

extern "C" {

handle unibuf_fortran_create_over(const CFI_cdesc_t* data, const int* access, const int* hint,
                                  const CFI_cdesc_t* device, int* stat, CFI_cdesc_t* errmsg) {
    return try_to_create(buffers(), stat, errmsg, [&] {
        const unibuf::space where = gpu_named(text_of(device));
        unibuf::buffer over = unibuf::buffer::over(memory_of(*data), nullptr, options_of(access, hint, where));
        auto made = std::make_unique<unified>(std::move(over), where);
        made->keep_host_pointer();
        return made;
    });
}

void unibuf_fortran_register(const CFI_cdesc_t* name, const handle* buffer, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { unibuf::get_registry().add(text_of(name), buffers().get(*buffer).bytes()); });
}

handle unibuf_fortran_find(const CFI_cdesc_t* name, int* stat, CFI_cdesc_t* errmsg) {
    handle made;
    carry_out(stat, errmsg, [&] {
        auto found = unibuf::get_registry().find(text_of(name));
        if (!found) return;
        const unibuf::space where = found->bytes.options().device.value_or(chosen_gpu());
        made = buffers().add(std::make_unique<unified>(std::move(found->bytes), where));
    });
    return made;
}

void unibuf_fortran_unregister(const CFI_cdesc_t* name, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { unibuf::get_registry().remove(text_of(name)); });
}

void unibuf_fortran_prefetch(const handle* buffer, const CFI_cdesc_t* device, const std::int64_t* offset,
                             const std::int64_t* size, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        const extent part = extent_of(offset, size);
        unified& of = buffers().get(*buffer);
        of.before_access();
        of.bytes().prefetch(gpu_named(text_of(device)), {.offset = part.offset, .count = part.bytes});
    });
}

void unibuf_fortran_begin_io(const handle* buffer, const int* what, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).begin_io(access_of(*what)); });
}

void unibuf_fortran_end_io(const handle* buffer, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).end_io(); });
}

void unibuf_fortran_discard(const handle* buffer, const CFI_cdesc_t* device, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).bytes().discard(gpu_named(text_of(device))); });
}

void unibuf_fortran_discard_content(const handle* buffer, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).bytes().discard_content(); });
}

void unibuf_fortran_limit_memory(const CFI_cdesc_t* device, const std::int64_t* bytes, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        const std::uint64_t most = bytes ? extent_of(nullptr, bytes).bytes : unibuf::no_memory_limit;
        unibuf::limit_memory(gpu_named(text_of(device)), most);
    });
}

std::int64_t unibuf_fortran_transferred(const CFI_cdesc_t* from, const CFI_cdesc_t* to, const handle* buffer, int* stat,
                                        CFI_cdesc_t* errmsg) {
    std::uint64_t sum = 0;
    carry_out(stat, errmsg, [&] {
        const unibuf::space source = gpu_named(text_of(from));
        const unibuf::space target = gpu_named(text_of(to));
        const unibuf::statistics all =
            buffer ? buffers().get(*buffer).bytes().statistics() : unibuf::total_statistics();
        for (const unibuf::transfer_count& each : all.transfers) {
            if (each.from == source && each.to == target) sum += each.bytes;
        }
    });
    return static_cast<std::int64_t>(sum);
}

void unibuf_fortran_begin_guard(const int* action, const CFI_cdesc_t* from, const CFI_cdesc_t* to, int* stat,
                                CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        const auto what = static_cast<unibuf::guard_action>(*action);
        if (*action < 0 || what > unibuf::guard_action::refuse) {
            throw unibuf::error(unibuf::error_code::invalid_argument,
                                "a guard's action is GUARD_ALLOW, GUARD_LOG or GUARD_REFUSE");
        }
        const unibuf::transfer_link along{.from = named(from), .to = named(to)};
        guards.push_back(std::make_unique<unibuf::transfer_guard>(what, along));
    });
}

void unibuf_fortran_end_guard(int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        if (!guards.empty()) return guards.pop_back();
        throw unibuf::error(unibuf::error_code::invalid_argument, "a guard was to end that this thread has not begun");
    });
}

void unibuf_fortran_begin_trace(const CFI_cdesc_t* file, const int* detail, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        const auto wanted = detail ? static_cast<unibuf::trace_detail>(*detail) : unibuf::trace_detail::events;
        if (detail && (*detail < 0 || wanted > unibuf::trace_detail::close)) {
            throw unibuf::error(unibuf::error_code::invalid_argument,
                                "the detail of a trace is TRACE_EVENTS or TRACE_CLOSE");
        }
        unibuf::write_trace(std::string(text_of(file)), wanted);
    });
}

void unibuf_fortran_end_trace() { unibuf::stop_trace(); }

void unibuf_fortran_recorded_traffic(std::int64_t* moved, std::int64_t* least, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        const unibuf::traffic found = unibuf::traffic_of(unibuf::recorded_events());
        *moved = static_cast<std::int64_t>(found.moved);
        *least = static_cast<std::int64_t>(found.least);
    });
}

void unibuf_fortran_use_opencl(const std::intptr_t* context, const std::intptr_t* device, const std::intptr_t* queue,
                               int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        choose_gpu(unibuf::opencl::use(reinterpret_cast<_cl_context*>(*context),
                                       reinterpret_cast<_cl_device_id*>(*device),
                                       queue ? reinterpret_cast<_cl_command_queue*>(*queue) : nullptr));
    });
}

int unibuf_fortran_device_count(int* stat) {
    carry_out(stat, nullptr, [&] {
        listed.clear();
        listed = available_devices();
    });
    return static_cast<int>(listed.size());
}

void unibuf_fortran_device_name(const int* index, CFI_cdesc_t* name) {
    put_text(listed.at(static_cast<std::size_t>(*index) - 1), name);
}

}  // extern "C"
