// backends/opengl/transfer.hpp: moving bytes into buffer objects and out of them, where their context is current.
#pragma once

#include <cstddef>
#include <span>

#include "backends/opengl/api.hpp"
#include "backends/rectangle.hpp"

namespace unibuf::backends {

void upload(const gl_api& gl, unsigned to, std::size_t offset, std::span<const std::byte> from);
void download(const gl_api& gl, unsigned from, std::size_t offset, std::span<std::byte> to);

/// Copies between two buffer objects, or within one.
void copy(const gl_api& gl, unsigned from, std::size_t at, unsigned to, std::size_t offset, std::size_t bytes);

// These copy rows between a buffer object, `here`, and the host or another one, row by row, as one piece of work.
void upload_rows(const gl_api& gl, unsigned to, const rectangle_copy& rows, const std::byte* host);
void download_rows(const gl_api& gl, unsigned from, const rectangle_copy& rows, std::byte* host);
void copy_rows_between(const gl_api& gl, unsigned from, unsigned to, const rectangle_copy& rows);

/// Repeats `pattern` over the range, on the device.
void fill(const gl_api& gl, unsigned to, std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern);

}  // namespace unibuf::backends
