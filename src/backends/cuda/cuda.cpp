// backends/cuda/cuda.cpp: finds the devices.
#include "unibuf/cuda.hpp"

#include <fmt/format.h>

#include "backends/cuda/device.hpp"
#include "backends/spaces.hpp"

namespace unibuf::backends {
namespace cuda {
namespace {

discovery discover() {
    discovery found;
    int count = 0;
    const result status = api().cuDeviceGetCount(&count);
    if (status != success) fail(status, "CUDA cannot list its devices", error_code::device_unavailable);
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        device_ordinal device = 0;
        if (api().cuDeviceGet(&device, ordinal) != success) continue;
        try {
            found.devices.push_back(std::make_unique<compute_device>(device));
        } catch (const error& failed) {  // the other devices may work
            found.unavailable = failed.what();
        }
    }
    if (!found.devices.empty()) {
        found.unavailable.clear();
    } else if (found.unavailable.empty()) {
        found.unavailable = "the CUDA driver knows no device";
    }
    return found;
}

compute_device& device_at(space where) {
    auto* const found = dynamic_cast<compute_device*>(&device_of(where));
    if (!found) throw error(error_code::invalid_argument, where.name() + " is no CUDA space");
    return *found;
}

}  // namespace
}  // namespace cuda

discovery discover_cuda() {
    if (!cuda::missing().empty()) return {.devices = {}, .unavailable = cuda::missing()};
    try {
        return cuda::discover();
    } catch (const error& failed) {
        return {.devices = {}, .unavailable = failed.what()};
    }
}

}  // namespace unibuf::backends

namespace unibuf::cuda {

namespace driver = backends::cuda;

handles handles_of(space where) {
    driver::compute_device& device = driver::device_at(where);
    return {.ordinal = device.ordinal(), .context = device.in().native()};
}

}  // namespace unibuf::cuda
