// backends/cuda/cuda.cpp: finds the devices.
#include "unibuf/cuda.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

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
        try {
            const result known = api().cuDeviceGet(&device, ordinal);
            if (known != success) fail(known, fmt::format("CUDA device {}", ordinal), error_code::device_unavailable);
            found.devices.push_back(std::make_unique<compute_device>(device));
        } catch (const error& failed) {  // the other devices may work
            found.unavailable += (found.unavailable.empty() ? "" : "; ") + std::string(failed.message());
        }
    }
    if (count == 0) found.unavailable = "the CUDA driver knows no device";
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
        return {.devices = {}, .unavailable = std::string(failed.message())};
    }
}

}  // namespace unibuf::backends

namespace unibuf::cuda {

namespace driver = backends::cuda;

handles handles_of(space where) {
    driver::compute_device& device = driver::device_at(where);
    return {.ordinal = device.ordinal(), .context = device.in().native()};
}

void use_streams(space where, std::span<CUstream_st* const> all) {
    driver::context& in = driver::device_at(where).in();
    std::vector<driver::stream_handle> named;
    for (CUstream_st* const each : all) named.push_back(static_cast<driver::stream_handle>(queue_of(each).native));
    const driver::context::scope current(in);
    in.use_streams(std::move(named));
}

}  // namespace unibuf::cuda
