// backends/opengl/device.cpp: what is found on this machine, and what it can do.
#include "backends/opengl/device.hpp"

#include <utility>

#include "backends/opengl/errors.hpp"
#include "backends/opengl/fence.hpp"
#include "backends/opengl/flags.hpp"
#include "backends/opengl/memory.hpp"

namespace unibuf::backends {

namespace {

/// Returns the memory that the driver tells; 0 where it does not.
std::uint64_t memory_of(gl_context& context, unsigned what) {
    int kib = 0;
    context.run([&] {
        const gl_api& gl = context.gl();
        forget_errors(gl);
        gl.get_integer(what, &kib);
        if (gl.get_error() != gl::no_error) kib = 0;
    });
    return static_cast<std::uint64_t>(kib) * 1024;
}

}  // namespace

gl_device::gl_device(std::shared_ptr<gl_context> context, std::shared_ptr<kept_buffers> kept)
    : context_(std::move(context)), kept_(std::move(kept)) {
    traits_.description = context_->description();
    traits_.own_memory = context_->platform().own_memory;
    traits_.host_visible = true;
    traits_.asynchronous = true;
    traits_.ends_with_fork = true;
    traits_.memory_bytes = traits_.own_memory ? memory_of(*context_, gl::dedicated_memory_nvx) : 0;
}

memory_info gl_device::memory_now() {
    memory_info known = device::memory_now();
    if (known.total != 0) known.free = memory_of(*context_, gl::available_memory_nvx);
    return known;
}

std::unique_ptr<memory> gl_device::allocate(const allocation_request& what) {
    return make_gl_memory(context_, kept_, what.bytes);
}

std::unique_ptr<memory> gl_device::allocate_visible(const allocation_request& what) {
    return make_mapped_gl_memory(context_, kept_, what.bytes,
                                 mapping_for(context_->platform().vendor, what.access, what.hint));
}

std::uint64_t gl_device::identify(queue on) {
    context_->check_queue(on);
    return device::identify(on);
}

fence gl_device::record(queue on) {
    context_->check_queue(on);
    return gl_fence::post(context_, [] {});
}

bool gl_device::order(const fence& before, queue on) {
    // A context does its work in order.
    const auto* work = dynamic_cast<const gl_fence*>(before.native());
    return (work && work->context() == context_.get()) || device::order(before, on);
}

void gl_device::trim() {
    if (kept_) kept_->clear();
}

discovery discover_opengl() {
    discovery found;
    if (auto context = make_own_context(found.unavailable)) {
        found.devices.push_back(std::make_unique<gl_device>(context, std::make_shared<kept_buffers>(context)));
    }
    return found;
}

}  // namespace unibuf::backends
