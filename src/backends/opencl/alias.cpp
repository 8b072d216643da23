// backends/opencl/alias.cpp: copies whose two ends are the same bytes.
#include "backends/opencl/alias.hpp"

#include "backends/opencl/device.hpp"

namespace unibuf::backends::cl {

alias::alias(compute_device& on, std::span<std::byte> host, std::size_t told)
    : allocation(on.in(), {}, host.size()), on_(on), host_(host), told_(told) {}

/// An access of no bytes publishes nothing, and wants a handle all the same.
std::uintptr_t alias::handle() const noexcept {
    try {
        begin();
    } catch (const std::exception&) {  // there is no handle then
    }
    return allocation::handle();
}

bool alias::begin() const {
    const std::lock_guard lock(mutex_);
    if (has_native()) return false;
    set_native(on_.create_buffer(told_, mem_read_write | mem_use_host_ptr, host_.data()));
    return true;
}

fence alias::publish_to_host(std::size_t offset, std::size_t bytes, access what, queue on) {
    if (begin() || what == access::write) return {};
    return read(offset, host_.subspan(offset, bytes), on);
}

fence alias::publish_to_device(std::size_t offset, std::size_t bytes, access what, queue on) {
    if (begin() || what == access::write) return {};
    return write(offset, host_.subspan(offset, bytes), on);
}

}  // namespace unibuf::backends::cl
