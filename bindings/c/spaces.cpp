// spaces.cpp: the spaces that there are, and their memory.
#include <cstddef>
#include <string>
#include <unibuf/accelerator.hpp>
#include <unibuf/error.hpp>
#include <unibuf/space.hpp>
#include <unibuf/statistics.hpp>
#include <unibuf/waiting.hpp>
#include <vector>

#include "attempt.hpp"
#include "convert.hpp"
#include "handles.hpp"

struct unibuf_devices {
    std::vector<unibuf::device_info> all;
    std::vector<std::vector<unibuf_device_property>> properties = {};  // the properties of each device
};

using namespace unibuf::c;

static_assert(UNIBUF_UNKNOWN == ~std::uint64_t{0});

const char* unibuf_message(void) { return message(); }

const char* unibuf_version(void) { return UNIBUF_VERSION; }

const char* unibuf_status_name(unibuf_status status) {
    if (status == UNIBUF_OK) return "ok";
    if (status < UNIBUF_OK || status > UNIBUF_UNSUPPORTED) return "unknown";
    return to_string(static_cast<unibuf::error_code>(status - 1)).data();
}

unibuf_status unibuf_find_space(const char* name, unibuf_space* where) {
    return answer(where, "a place for the space",
                  [&] { return unibuf::space(&given(name, "the name of a space")).id(); });
}

const char* unibuf_space_name(unibuf_space where) {
    const auto found = unibuf::space::numbered(where);
    return found ? found->name().c_str() : nullptr;
}

unibuf_status unibuf_default_device(unibuf_space* where) {
    return answer(where, "a place for the space", [&] { return unibuf::default_device().id(); });
}

unibuf_status unibuf_set_default_device(unibuf_space where) {
    return attempt([&] { unibuf::set_default_device(space_of(where)); });
}

unibuf_status unibuf_devices_list(unibuf_devices** devices) {
    return attempt([&] {
        hand_out(devices, "a place for the devices", [] {
            unibuf_devices found{unibuf::devices()};
            for (const unibuf::device_info& each : found.all) {
                auto& properties = found.properties.emplace_back();
                for (const auto& [name, value] : each.properties) properties.push_back({name.c_str(), value.c_str()});
            }
            return found;
        });
    });
}

size_t unibuf_devices_count(const unibuf_devices* devices) { return devices ? devices->all.size() : 0; }

unibuf_status unibuf_devices_get(const unibuf_devices* devices, size_t index, unibuf_device_info* info) {
    return attempt([&] {
        const unibuf_devices& of = given(devices, "a list of devices");
        if (index >= of.all.size()) {
            throw unibuf::error(
                unibuf::error_code::out_of_range,
                "device " + std::to_string(index) + " was asked for; the list has " + std::to_string(of.all.size()));
        }
        const unibuf::device_info& each = of.all[index];
        given(info, "a place for the device") = {.name = each.name.c_str(),
                                                 .reason = each.reason.c_str(),
                                                 .description = each.description.c_str(),
                                                 .memory_bytes = each.memory_bytes,
                                                 .properties = of.properties[index].data(),
                                                 .property_count = of.properties[index].size(),
                                                 .available = each.available,
                                                 .own_memory = each.own_memory,
                                                 .aliases_host = each.aliases_host,
                                                 .host_visible = each.host_visible,
                                                 .asynchronous = each.asynchronous};
    });
}

void unibuf_devices_destroy(unibuf_devices* devices) { delete devices; }

unibuf_status unibuf_memory_of(unibuf_space where, unibuf_memory* memory) {
    return attempt([&] {
        unibuf_memory& result = given(memory, "a place for the figures");
        const unibuf::accelerator_memory found = unibuf::get_accelerator(space_of(where)).memory();
        result = {.total = found.total,
                  .free = found.free.value_or(UNIBUF_UNKNOWN),
                  .held = found.held,
                  .peak = found.peak,
                  .limit = found.limit,
                  .pooled = found.pooled,
                  .pinned = found.pinned};
    });
}

void unibuf_memory_held(uint64_t* held, uint64_t* peak) {
    const unibuf::memory_usage usage = unibuf::memory_in_all();
    if (held) *held = usage.held;
    if (peak) *peak = usage.peak;
}

void unibuf_reset_peak_memory(void) { unibuf::reset_peak_memory(); }

unibuf_status unibuf_limit_memory(unibuf_space where, uint64_t bytes) {
    return attempt([&] { unibuf::limit_memory(space_of(where), bytes); });
}

unibuf_status unibuf_trim_memory(unibuf_space where) {
    return attempt([&] { unibuf::trim_memory(space_of(where)); });
}

unibuf_status unibuf_set_default_timeout(int64_t timeout_ns) {
    return attempt([&] { unibuf::set_default_timeout(timeout_of(timeout_ns)); });
}
