// backends/metal/device.cpp: what a device can do, and its memory.
#include "backends/metal/device.hpp"

#include <fmt/format.h>

#include "system/pages.hpp"
#include "unibuf/detail/sizes.hpp"

namespace unibuf::backends::metal {
namespace {

// A command buffer is only had where fewer than so many are uncompleted; else the thread that asks is stopped. Metal
// itself would take 64.
constexpr ns_uinteger most_uncompleted = 4096;

}  // namespace

metal_device::metal_device(owned native, owned queue) : native_(std::move(native)), queue_(std::move(queue)) {
    const pool drained;
    const id of = native_.get();
    const bool unified = has_unified_memory(of);
    about_.description = text_of(name_of(of));
    about_.own_memory = !unified;
    // Others would read the host's memory over their bus at each access.
    about_.aliases_host = unified;
    about_.asynchronous = true;
    about_.ends_with_fork = true;
    about_.retains_queues = true;
    about_.memory_bytes = working_set_of(of);
    longest_buffer_ = longest_buffer_of(of);
    about_.properties = {
        {"memory", unified ? "the host's" : "its own"},
        {"longest buffer", fmt::format("{} bytes", longest_buffer_)},
        {"low power", is_low_power(of) ? "yes" : "no"},
    };
}

context& metal_device::in() {
    if (context* made = in_use()) return *made;
    const pool drained;
    const std::lock_guard lock(mutex_);
    if (context* made = in_use()) return *made;
    if (!queue_) queue_ = new_queue(native(), most_uncompleted);
    if (!queue_) {
        throw error(error_code::device_unavailable,
                    fmt::format("{}: no command queue can be made", about_.description));
    }
    context_.store(new context{.description = about_.description,
                               .work = queues(native(), std::move(queue_), about_.description),
                               .kernels = kernels(native()),
                               .staging = staging(native())},
                   std::memory_order_release);
    return *in_use();
}

/// What Metal recommends is all of it; the system gives more, and slows everything down then.
memory_info metal_device::memory_now() {
    const pool drained;
    const std::uint64_t total = about_.memory_bytes;
    const std::uint64_t taken = allocated_by(native());
    return {.total = total, .free = total > taken ? total - taken : 0};
}

void metal_device::trim() {
    if (context* const made = in_use()) made->staging.clear();
}

void metal_device::check_length(std::size_t bytes) const {
    if (bytes <= longest_buffer_) return;
    throw error(error_code::out_of_memory, fmt::format("{}: {} bytes were asked for in one allocation; it allows {}",
                                                       about_.description, bytes, longest_buffer_));
}

std::unique_ptr<memory> metal_device::allocate(const allocation_request& what) {
    const pool drained;
    check_length(what.bytes);
    const std::size_t bytes = detail::rounded_up(what.bytes, 16);
    context& used = in();
    // Where the memory is the host's own, private storage has no advantage, and libraries such as MLX look into
    // buffers.
    const ns_uinteger storage = about_.own_memory ? storage_private : storage_shared;
    owned made = new_buffer(native(), bytes, storage);
    if (!made && used.staging.clear()) made = new_buffer(native(), bytes, storage);
    if (!made) {
        throw error(error_code::out_of_memory,
                    fmt::format("{}: an allocation of {} bytes was asked for", about_.description, what.bytes));
    }
    return std::make_unique<buffer_memory>(used, std::move(made));
}

/// Metal takes whole pages. The last may hold something else behind these bytes: no work touches that. On some virtual
/// machines it makes a buffer of nothing.
std::unique_ptr<memory> metal_device::alias(std::span<std::byte> host, const allocation_request& what) {
    if (!about_.aliases_host) return device::alias(host, what);
    const pool drained;
    const std::size_t page = system::page_size();
    if (reinterpret_cast<std::uintptr_t>(host.data()) % page != 0) {
        throw error(error_code::unsupported,
                    fmt::format("{} can use host memory in place from multiples of {} bytes on; {} bytes at {} were "
                                "asked for",
                                about_.description, page, host.size(), static_cast<const void*>(host.data())));
    }
    check_length(host.size());
    const std::size_t bytes = detail::rounded_up(host.size(), page);
    context& used = in();
    owned made = new_buffer_of(native(), host.data(), bytes);
    if (!made || contents_of(made.get()) != host.data() || length_of(made.get()) < host.size()) {
        throw error(error_code::unsupported,
                    fmt::format("{} does not use {} bytes of the host's memory in place", about_.description, bytes));
    }
    return std::make_unique<page_memory>(used, std::move(made), host);
}

std::uint64_t metal_device::identify(queue on) {
    in().work.add(on.native);
    return device::identify(on);  // a queue that was named is kept
}

fence metal_device::record(queue on) { return in().work.record(on); }

bool metal_device::order(const fence& before, queue on) { return in().work.order(before, on); }

}  // namespace unibuf::backends::metal
