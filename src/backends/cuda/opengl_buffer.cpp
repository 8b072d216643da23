// backends/cuda/opengl_buffer.cpp: a buffer object of OpenGL on the same card, used by CUDA without a copy.
#include "backends/cuda/opengl_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace unibuf::backends::cuda {
namespace {

/// Returns whether the driver has these functions. Drivers for machines without OpenGL may lack some.
bool knows_opengl() {
    const functions& cuda = api();
    return cuda.cuGLGetDevices && cuda.cuGraphicsGLRegisterBuffer && cuda.cuGraphicsUnregisterResource &&
           cuda.cuGraphicsMapResources && cuda.cuGraphicsUnmapResources && cuda.cuGraphicsResourceGetMappedPointer;
}

}  // namespace

bool opengl_buffer::in_reach(device_ordinal device, const gl_buffer_object& object) {
    if (!knows_opengl()) return false;
    std::array<device_ordinal, 32> devices{};
    unsigned count = 0;
    result status = success;
    object.context->run([&] {
        constexpr int all_devices = 1;  // CU_GL_DEVICE_LIST_ALL
        status = api().cuGLGetDevices(&count, devices.data(), static_cast<unsigned>(devices.size()), all_devices);
    });
    // A driver answers so that knows nothing of the context: it is that of another card, or of no card at all.
    if (status == no_device || status == invalid_graphics_context) return false;
    if (status != success) fail(status, "CUDA cannot tell which devices OpenGL uses", error_code::unsupported);
    const auto listed = std::span(devices).first(std::min<std::size_t>(count, devices.size()));
    return std::ranges::find(listed, device) != listed.end();
}

opengl_buffer::opengl_buffer(context& in, staging& ring, std::size_t bytes, gl_buffer_object object)
    : device_range(in, ring, bytes), object_(std::move(object)) {
    object_.context->run([this] {
        const context::scope current(this->in());
        constexpr unsigned no_flags = 0;
        this->in().check(api().cuGraphicsGLRegisterBuffer(&resource_, object_.name, no_flags),
                         fmt::format("buffer object {} of OpenGL cannot be registered", object_.name),
                         error_code::unsupported);
    });
}

/// The resource goes when the context lets others in: where the context is the caller's own, that may be later.
opengl_buffer::~opengl_buffer() {
    object_.context->when_possible([&in = in(), resource = resource_, mapped = mapped_, out = is_out()]() mutable {
        try {
            const context::scope current(in);
            const stream_handle stream = mapped && out ? in.stream_for({}) : in.idle_stream();
            if (mapped && api().cuGraphicsUnmapResources(1, &resource, stream) != success) return;
            api().cuGraphicsUnregisterResource(resource);
        } catch (const std::exception&) {  // the device is lost
        }
    });
}

void opengl_buffer::capture_write(std::size_t, std::span<const std::byte>, queue) {
    throw error(error_code::unsupported,
                fmt::format("buffer object {} of OpenGL goes back to OpenGL between launches: no upload to it can be "
                            "captured",
                            object_.name));
}

fence opengl_buffer::publish_to_device(std::size_t, std::size_t, access, queue on) {
    // The per-thread stream would be another one on the context's thread.
    const bool of_thread = on.native == per_thread_stream;
    fence done;
    object_.context->run([&] {
        const context::scope current(in());
        const stream_handle stream = in().stream_for(of_thread ? queue{} : on);
        done = in().queued(stream, [&] { map(stream); });
    });
    if (!of_thread) return done;
    const context::scope current(in());
    const stream_handle stream = in().stream_for(on);
    in().order(done, stream);
    return in().mark(stream);
}

void opengl_buffer::map(stream_handle stream) {
    if (!mapped_) {
        in().check(api().cuGraphicsMapResources(1, &resource_, stream),
                   fmt::format("buffer object {} of OpenGL cannot be mapped", object_.name));
        mapped_ = true;
    }
    device_pointer address = 0;
    std::size_t found = 0;
    const result status = api().cuGraphicsResourceGetMappedPointer(&address, &found, resource_);
    if (status == success && found >= bytes()) return set_address(address);
    mapped_ = api().cuGraphicsUnmapResources(1, &resource_, stream) != success;
    in().check(status, fmt::format("buffer object {} of OpenGL has no address", object_.name));
    throw error(error_code::transfer_failed,
                fmt::format("buffer object {} of OpenGL has {} bytes for CUDA, not {}", object_.name, found, bytes()));
}

/// The driver itself orders the unmapping before all that OpenGL is asked for from now on.
fence opengl_buffer::publish_to_host(std::size_t, std::size_t, access, queue on) {
    object_.context->run([&] {
        if (!mapped_) return;
        const context::scope current(in());
        in().check(api().cuGraphicsUnmapResources(1, &resource_, in().stream_for(on)),
                   fmt::format("buffer object {} of OpenGL cannot be unmapped", object_.name));
        mapped_ = false;
    });
    return {};
}

}  // namespace unibuf::backends::cuda
