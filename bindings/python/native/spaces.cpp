// spaces.cpp: devices, their memory and limits, and statistics of the process.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <optional>
#include <unibuf/opencl.hpp>

#include "module.hpp"
#include "options.hpp"
#include "without_interpreter.hpp"

using namespace nanobind::literals;

namespace unibuf::python {

namespace {

nb::dict info_as_dict(const device_info& of) {
    nb::dict properties;
    for (const device_property& each : of.properties) properties[each.name.c_str()] = each.value;
    nb::dict result;
    result["name"] = of.name;
    result["available"] = of.available;
    result["reason"] = of.reason;
    result["description"] = of.description;
    result["own_memory"] = of.own_memory;
    result["aliases_host"] = of.aliases_host;
    result["host_visible"] = of.host_visible;
    result["asynchronous"] = of.asynchronous;
    result["memory_bytes"] = of.memory_bytes;
    result["properties"] = properties;
    return result;
}

nb::list all_devices() {
    nb::list result;
    for (const device_info& each : unlocked(devices)) result.append(info_as_dict(each));
    return result;
}

nb::object limit_or_none(std::uint64_t bytes) {
    return bytes == no_memory_limit ? nb::none() : nb::object(nb::int_(bytes));
}

nb::dict memory_as_dict(nb::handle where) {
    const space at = named_space_of(where);
    const accelerator_memory found = unlocked([&] { return get_accelerator(at).memory(); });
    nb::dict result;
    result["total"] = found.total;
    result["free"] = found.free;
    result["held"] = found.held;
    result["peak"] = found.peak;
    result["limit"] = limit_or_none(found.limit);
    result["pooled"] = found.pooled;
    result["pinned"] = found.pinned;
    return result;
}

}  // namespace

nb::dict statistics_as_dict(const statistics& of) {
    nb::list transfers;
    for (const transfer_count& each : of.transfers) {
        transfers.append(nb::make_tuple(each.from.name(), each.to.name(), nb::str(to_string(each.why).data()),
                                        each.transfers, each.bytes));
    }
    nb::dict result;
    result["transfers"] = transfers;
    result["publications"] = of.publications;
    result["fence_waits"] = of.fence_waits;
    result["evictions"] = of.evictions;
    return result;
}

void define_spaces(nb::module_& in) {
    in.def("devices", all_devices, nb::sig("def devices() -> list[dict[str, typing.Any]]"));
    in.def(
        "properties_of",
        [](nb::handle where) {
            const space at = named_space_of(where);
            return info_as_dict(unlocked([&] { return get_accelerator(at).properties(); }));
        },
        "space"_a.none(), nb::sig("def properties_of(space: str) -> dict[str, typing.Any]"));
    in.def("memory_of", memory_as_dict, "space"_a.none(),
           nb::sig("def memory_of(space: str) -> dict[str, typing.Any]"));
    in.def("default_device", [] { return space_of(nb::none()).name(); });
    in.def(
        "set_default_device",
        [](nb::handle where) {
            const space wanted = named_space_of(where);
            const without_interpreter unlocked;
            set_default_device(wanted);
        },
        "space"_a.none());
    in.def(
        "limit_memory",
        [](nb::handle where, nb::handle bytes) {
            const std::uint64_t most = limit_of(bytes);
            const space at = named_space_of(where);
            unlocked([&] { limit_memory(at, most); });
        },
        "space"_a.none(), "nbytes"_a.none());
    in.def(
        "trim_memory",
        [](nb::handle where) {
            const space at = named_space_of(where);
            const without_interpreter unlocked;
            trim_memory(at);
        },
        "space"_a.none());
    in.def(
        "default_timeout",
        [] {
            const std::chrono::nanoseconds found = default_timeout();
            return found == forever ? nb::none() : nb::object(nb::float_(std::chrono::duration<double>(found).count()));
        },
        nb::sig("def default_timeout() -> float | None"));
    in.def(
        "set_default_timeout", [](nb::handle seconds) { set_default_timeout(timeout_of(seconds)); },
        "seconds"_a.none());
    in.def("also_load_opencl_from", &detail::also_load_opencl_from);
    in.def("opencl_queue", [](const std::string& where) {
        return unlocked([&] { return reinterpret_cast<std::uintptr_t>(opencl::handles_of(space(where)).queue); });
    });
    in.def(
        "total_statistics", [] { return statistics_as_dict(total_statistics()); },
        nb::sig("def total_statistics() -> dict[str, typing.Any]"));
    in.def("reset_statistics", [] { reset_statistics(); });
}

}  // namespace unibuf::python
