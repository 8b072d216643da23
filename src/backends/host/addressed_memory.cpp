// backends/host/addressed_memory.cpp: memory that the host addresses, and copies by itself.
#include "backends/host/addressed_memory.hpp"

#include <cstring>

#include "backends/copy_parts.hpp"
#include "backends/pattern.hpp"

namespace unibuf::backends {

fence addressed_memory::write(std::size_t offset, std::span<const std::byte> from, queue) {
    std::memcpy(address_ + offset, from.data(), from.size());
    return {};
}

fence addressed_memory::read(std::size_t offset, std::span<std::byte> to, queue) {
    std::memcpy(to.data(), address_ + offset, to.size());
    return {};
}

void addressed_memory::write_parts(std::span<const part> parts, const std::byte* host, queue, fences& done) {
    copy_parts(parts, address_, host);
    done.resize(parts.size());
}

void addressed_memory::read_parts(std::span<const part> parts, std::byte* host, queue, fences& done) {
    copy_parts(parts, host, address_);
    done.resize(parts.size());
}

fence addressed_memory::write_rectangle(const rectangle_copy& what, const std::byte* host, queue) {
    copy_rows(what, address_, host);
    return {};
}

fence addressed_memory::read_rectangle(const rectangle_copy& what, std::byte* host, queue) {
    copy_rows(what.turned(), host, address_);
    return {};
}

fence addressed_memory::fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue) {
    repeat(pattern, {address_ + offset, bytes});
    return {};
}

}  // namespace unibuf::backends
