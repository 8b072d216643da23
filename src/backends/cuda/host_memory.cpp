// backends/cuda/host_memory.cpp: pins memory of the host, or has the driver allocate it.
#include "backends/cuda/host_memory.hpp"

#include <cstring>
#include <exception>

#include "unibuf/error.hpp"

namespace unibuf::backends::cuda {

host_alias::host_alias(context& in, staging& ring, std::span<std::byte> host, bool pageable)
    : device_range(in, ring, host.size()), host_(host) {
    if (pageable) {
        set_address(reinterpret_cast<device_pointer>(host.data()));
        return;
    }
    const context::scope current(in);
    pages_.emplace(in, host);
    device_pointer made = 0;
    in.check(api().cuMemHostGetDevicePointer(&made, host.data(), 0), "the host's memory cannot be mapped",
             error_code::unsupported);
    set_address(made);
}

visible_memory::visible_memory(context& in, staging& ring, const allocation_request& what)
    : device_range(in, ring, what.bytes), share_(what.bytes) {
    const context::scope current(in);
    unsigned flags = host_alloc_portable | host_alloc_device_map;
    const bool streams = what.hint == memory_hint::streaming && what.access != host_access::read_only;
    if (streams) flags |= host_alloc_write_combined;
    void* made = nullptr;
    const result status = api().cuMemHostAlloc(&made, what.bytes, flags);
    if (status != success) out_of_room(in, what.bytes, "of pinned host memory", status);
    host_ = static_cast<std::byte*>(made);
    device_pointer address = 0;
    if (const result mapped = api().cuMemHostGetDevicePointer(&address, made, 0); mapped != success) {
        api().cuMemFreeHost(made);
        in.check(mapped, "pinned host memory cannot be mapped", error_code::unsupported);
    }
    set_address(address);
    std::memset(host_, 0, what.bytes);
}

visible_memory::~visible_memory() {
    try {
        const context::scope current(in());
        api().cuMemFreeHost(host_);
    } catch (const std::exception&) {  // the device is lost
    }
}

}  // namespace unibuf::backends::cuda
