// backends/cuda/opengl_buffer.hpp: a buffer object of OpenGL on the same card, used by CUDA without a copy.
#pragma once

#include <memory>

#include "backends/cuda/memory.hpp"
#include "backends/opengl/buffer_object.hpp"

namespace unibuf::backends::cuda {

/// The buffer object is CUDA's while it is mapped, which is one turn: OpenGL must not use a buffer object that is
/// mapped, nor CUDA one that is not (see device::borrow). Registering, mapping and unmapping are done where the OpenGL
/// context is current.
class opengl_buffer final : public device_range {
public:
    /// Returns whether the OpenGL context runs on that device. Throws where it cannot be asked.
    static bool in_reach(device_ordinal device, const gl_buffer_object& object);

    opengl_buffer(context& in, staging& ring, std::size_t bytes, gl_buffer_object object);
    ~opengl_buffer() override;
    opengl_buffer(const opengl_buffer&) = delete;
    opengl_buffer& operator=(const opengl_buffer&) = delete;

    void capture_write(std::size_t offset, std::span<const std::byte> from, queue on) override;
    fence publish_to_device(std::size_t offset, std::size_t bytes, access what, queue on) override;
    fence publish_to_host(std::size_t offset, std::size_t bytes, access what, queue on) override;

private:
    void map(stream_handle stream);

    gl_buffer_object object_;
    resource_handle resource_ = nullptr;
    bool mapped_ = false;
};

}  // namespace unibuf::backends::cuda
