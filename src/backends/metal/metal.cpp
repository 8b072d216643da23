// backends/metal/metal.cpp: finds the devices, and adopts the caller's.
#include "unibuf/metal.hpp"

#include <mutex>
#include <optional>

#include "backends/metal/device.hpp"
#include "backends/spaces.hpp"
#include "process/lasting.hpp"
#include "process/mutex.hpp"

namespace unibuf::backends {
namespace metal {
namespace {

discovery discover() {
    const pool drained;
    discovery result;
    const owned all(api().MTLCopyAllDevices());
    const ns_uinteger count = all ? count_of(all.get()) : 0;
    for (ns_uinteger i = 0; i < count; ++i) {
        result.devices.push_back(std::make_unique<metal_device>(owned::retained(object_at(all.get(), i))));
    }
    if (count == 0) result.unavailable = "this machine has no device for Metal, or the process may use none";
    return result;
}

metal_device& device_at(space where) {
    auto* found = dynamic_cast<metal_device*>(&device_of(where));
    if (!found) throw error(error_code::invalid_argument, where.name() + " is no Metal space");
    return *found;
}

/// Returns the space that works with the caller's device and queue already.
std::optional<space> adopted(const unibuf::metal::handles& callers) {
    for (std::size_t id = 0; id < count_of_spaces(); ++id) {
        const space each = space::from_id(static_cast<std::uint8_t>(id));
        auto* const known = dynamic_cast<metal_device*>(&device_of(each));
        if (!known || !is_same_device(known->native(), callers.device)) continue;
        if (!callers.queue || (known->in_use() && known->in_use()->work.own() == callers.queue)) return each;
    }
    return std::nullopt;
}

}  // namespace
}  // namespace metal

discovery discover_metal() {
    if (!metal::missing().empty()) return {.devices = {}, .unavailable = metal::missing()};
    return metal::discover();
}

}  // namespace unibuf::backends

namespace unibuf::metal {

using namespace backends::metal;
using backends::metal::owned;

handles handles_of(space where) {
    metal_device& known = device_at(where);
    return {.device = known.native(), .queue = known.in().work.own()};
}

space use(void* device, void* command_queue) {
    const handles callers{device, command_queue};
    if (!device) throw error(error_code::invalid_argument, "a space is made of a Metal device; it is null");
    const pool drained;
    if (command_queue && !is_same_device(device_of_queue(command_queue), device)) {
        throw error(error_code::invalid_argument, "the Metal command queue belongs to another device");
    }
    static process::lasting<process::mutex> mutex(process::mutex::rank::renewed);
    const std::lock_guard lock(*mutex);
    // Devices are looked for first, so that "metal:0" means the same whether somebody adopted before or not.
    try {
        [[maybe_unused]] const space found("metal:0");
    } catch (const error&) {
    }
    if (const std::optional<space> known = adopted(callers)) return *known;
    owned queue = command_queue ? owned::retained(command_queue) : owned();
    auto made = std::make_unique<metal_device>(owned::retained(device), std::move(queue));
    made->in();  // has the queue, by which the space is known again
    return backends::add_space("metal", std::move(made));
}

void add_queue(space where, void* command_queue) {
    if (!command_queue) {
        throw error(error_code::invalid_argument, "a queue of " + where.name() + " was named that is null");
    }
    device_at(where).in().work.add(command_queue);
}

void* memory(const native_memory& copy) {
    device_at(copy.where);
    return reinterpret_cast<void*>(copy.handle);
}

}  // namespace unibuf::metal
