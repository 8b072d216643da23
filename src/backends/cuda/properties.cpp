// backends/cuda/properties.cpp: what a device says of itself, for people and logs.
#include "backends/cuda/properties.hpp"

#include <fmt/format.h>

#include <optional>

namespace unibuf::backends::cuda {
namespace {

std::optional<int> attribute(device_ordinal of, int which) {
    int value = 0;
    if (api().cuDeviceGetAttribute(&value, which, of) != success) return {};
    return value;
}

}  // namespace

std::vector<device_property> properties_of(device_ordinal device) {
    std::vector<device_property> all;
    const auto number = [&](const char* name, int which) {
        if (const auto found = attribute(device, which)) all.push_back({name, fmt::format("{}", *found)});
    };
    const auto answer = [&](const char* name, int which) {
        if (const auto found = attribute(device, which)) all.push_back({name, *found != 0 ? "yes" : "no"});
    };
    int version = 0;
    if (api().cuDriverGetVersion(&version) == success) all.push_back({"CUDA version", version_text(version)});
    const auto major = attribute(device, compute_capability_major);
    const auto minor = attribute(device, compute_capability_minor);
    if (major && minor) all.push_back({"compute capability", fmt::format("{}.{}", *major, *minor)});
    number("multiprocessors", multiprocessors);
    const auto domain = attribute(device, pci_domain);
    const auto bus = attribute(device, pci_bus);
    const auto slot = attribute(device, pci_device);
    if (domain && bus && slot) {
        all.push_back({"PCI address", fmt::format("{:04x}:{:02x}:{:02x}.0", *domain, *bus, *slot)});
    }
    number("copy engines", copy_engines);
    answer("memory pools", memory_pools_supported);
    answer("pageable access", pageable_memory_access);
    answer("host page tables", pageable_access_uses_host_page_tables);
    answer("ECC", ecc_enabled);
    return all;
}

}  // namespace unibuf::backends::cuda
