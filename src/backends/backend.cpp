// backends/backend.cpp: what a backend need not implement.
#include "backends/backend.hpp"

#include <cstring>
#include <utility>

#include "backends/many_fences.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

/// Calls move(here, there) for each row, and returns a fence of all the fences that it returns.
template <class Move>
fence row_by_row(const rectangle_copy& what, const Move& move) {
    many_fences started;
    what.folded().for_each_row(
        [&](std::size_t here, std::size_t there) { started.add([&] { return move(here, there); }); });
    return std::move(started).all();
}

}  // namespace

void memory::write_parts(std::span<const part> parts, const std::byte* host, queue on, fences& done) {
    for (const part& each : parts) done.push_back(write(each.offset, {host + each.offset, each.bytes}, on));
}

void memory::read_parts(std::span<const part> parts, std::byte* host, queue on, fences& done) {
    for (const part& each : parts) done.push_back(read(each.offset, {host + each.offset, each.bytes}, on));
}

void memory::poison_stale(std::size_t offset, std::size_t bytes) {
    std::memset(host_address() + offset, static_cast<int>(poison), bytes);
}

transfer_route memory::route_of(std::span<const std::byte>) const noexcept { return transfer_route::direct; }

bool memory::takes_from(const memory&) const noexcept { return false; }

fence memory::write_from(memory&, std::size_t, std::size_t, std::size_t, queue) {
    throw error(error_code::unsupported, "memory was to be copied to a device that does not reach it");
}

fence memory::write_rectangle(const rectangle_copy& what, const std::byte* host, queue on) {
    const std::size_t bytes = what.folded().row_bytes;
    return row_by_row(what,
                      [&](std::size_t here, std::size_t there) { return write(here, {host + there, bytes}, on); });
}

fence memory::read_rectangle(const rectangle_copy& what, std::byte* host, queue on) {
    const std::size_t bytes = what.folded().row_bytes;
    return row_by_row(what, [&](std::size_t here, std::size_t there) { return read(here, {host + there, bytes}, on); });
}

fence memory::write_rectangle_from(memory& other, const rectangle_copy& what, queue on) {
    const std::size_t bytes = what.folded().row_bytes;
    return row_by_row(what,
                      [&](std::size_t here, std::size_t there) { return write_from(other, there, here, bytes, on); });
}

fence memory::publish_rows_to_host(const rectangle_copy& what, access how, queue on) {
    const std::size_t bytes = what.folded().row_bytes;
    return row_by_row(what, [&](std::size_t here, std::size_t) { return publish_to_host(here, bytes, how, on); });
}

fence memory::publish_rows_to_device(const rectangle_copy& what, access how, queue on) {
    const std::size_t bytes = what.folded().row_bytes;
    return row_by_row(what, [&](std::size_t here, std::size_t) { return publish_to_device(here, bytes, how, on); });
}

void memory::capture_write(std::size_t, std::span<const std::byte>, queue) {
    throw error(error_code::unsupported, "an upload was to be captured, and only CUDA has graphs");
}

fence memory::publish_to_host(std::size_t, std::size_t, access, queue) { return {}; }
fence memory::publish_to_device(std::size_t, std::size_t, access, queue) { return {}; }

memory_info device::memory_now() { return {.total = about().memory_bytes, .free = {}}; }

std::unique_ptr<memory> device::allocate_visible(const allocation_request&) {
    throw error(error_code::unsupported, about().description + " has no memory that the host can address");
}

std::unique_ptr<memory> device::alias(std::span<std::byte>, const allocation_request&) {
    throw error(error_code::unsupported, about().description + " cannot use the host's memory in place");
}

std::unique_ptr<memory> device::borrow(memory&, const allocation_request&) { return nullptr; }

void device::move_many(direction way, std::span<const move_of> moves, fences& done) {
    for (const auto& [of, offset, host] : moves) {
        done.push_back(way == direction::to_device ? of->write(offset, host, {}) : of->read(offset, host, {}));
    }
}

std::unique_ptr<pin> device::pin_pages(std::span<std::byte>) {
    throw error(error_code::unsupported, about().description + " has no use for pinned memory");
}

std::uint64_t device::identify(queue on) { return reinterpret_cast<std::uintptr_t>(on.native); }

fence device::record(queue) { return {}; }

bool device::order(const fence& before, queue) { return before.native() == nullptr; }

}  // namespace unibuf::backends
