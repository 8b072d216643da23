// backends/opencl/alias.cpp: copies whose two ends are the same bytes.
#include "backends/opencl/alias.hpp"

#include "backends/opencl/device.hpp"

namespace unibuf::backends::cl {

alias::alias(compute_device& on, std::span<std::byte> host, std::size_t told)
    : allocation(on.in(), {}, host.size()),
      on_(on),
      host_(host),
      bytes_to_tell_(told),
      in_place_(on.works_in_place()) {}

/// An access of no bytes publishes nothing, and wants a handle all the same.
std::uintptr_t alias::handle() const noexcept {
    try {
        tell();
    } catch (const std::exception&) {  // there is no handle then
    }
    return allocation::handle();
}

bool alias::tell() const {
    if (is_told_.load(std::memory_order_acquire)) return false;
    const std::lock_guard lock(mutex_);
    if (is_told_.load(std::memory_order_relaxed)) return false;
    set_native(on_.create_buffer(bytes_to_tell_, mem_read_write | mem_use_host_ptr, host_.data()));
    is_told_.store(true, std::memory_order_release);
    return true;
}

/// A small memory is told of anew, which costs less than a command that brings the driver's bytes up to date.
void alias::forget_content() noexcept {
    constexpr std::size_t most = std::size_t{64} << 10;
    if (in_place_ || bytes_to_tell_ > most) return;
    is_told_.store(false, std::memory_order_relaxed);
    release_native();
}

/// Where the bytes are the host's, only the device's work is waited for: mostly at once, and often for the second time.
fence alias::work_before(queue on) { return in().end_of(on); }

fence alias::publish_to_host(std::size_t offset, std::size_t bytes, access what, queue on) {
    if (!is_told_.load(std::memory_order_acquire) || what == access::write) return {};
    return in_place_ ? work_before(on) : read(offset, host_.subspan(offset, bytes), on);
}

fence alias::publish_to_device(std::size_t offset, std::size_t bytes, access what, queue on) {
    if (tell() || in_place_ || what == access::write) return {};
    return write(offset, host_.subspan(offset, bytes), on);
}

fence alias::publish_rows_to_host(const rectangle_copy& what, access how, queue on) {
    if (!is_told_.load(std::memory_order_acquire) || how == access::write) return {};
    return in_place_ ? work_before(on) : read_rectangle(what, host_.data(), on);
}

fence alias::publish_rows_to_device(const rectangle_copy& what, access how, queue on) {
    if (tell() || in_place_ || how == access::write) return {};
    return write_rectangle(what, host_.data(), on);
}

}  // namespace unibuf::backends::cl
