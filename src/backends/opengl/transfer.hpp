// backends/opengl/transfer.hpp: moving bytes into buffer objects and out of them, where their context is current.
#pragma once

#include <cstddef>
#include <span>

#include "backends/opengl/api.hpp"

namespace unibuf::backends {

void upload(const gl_api& gl, unsigned to, std::size_t offset, std::span<const std::byte> from);
void download(const gl_api& gl, unsigned from, std::size_t offset, std::span<std::byte> to);

/// Copies between two buffer objects, or within one.
void copy(const gl_api& gl, unsigned from, std::size_t at, unsigned to, std::size_t offset, std::size_t bytes);

/// Repeats `pattern` over the range, on the device.
void fill(const gl_api& gl, unsigned to, std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern);

}  // namespace unibuf::backends
