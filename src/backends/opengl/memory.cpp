// backends/opengl/memory.cpp: buffer objects, mapped for as long as they live or not at all.
#include "backends/opengl/memory.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "backends/opengl/errors.hpp"
#include "backends/opengl/fence.hpp"
#include "backends/opengl/room.hpp"
#include "backends/opengl/transfer.hpp"

namespace unibuf::backends {

namespace {

void refuse_queue(queue on) {
    if (on) throw error(error_code::invalid_argument, "OpenGL has no queues: work is on its context");
}

class gl_memory final : public memory {
public:
    gl_memory(std::shared_ptr<gl_context> context, gl_buffer buffer, std::byte* mapped, bool explicit_flush)
        : context_(std::move(context)), buffer_(buffer), mapped_(mapped), explicit_flush_(explicit_flush) {}

    ~gl_memory() override {
        // Deleting a buffer unmaps it.
        const auto remove = context_->gl().delete_buffers;
        context_->when_possible([remove, name = buffer_.name] { remove(1, &name); });
    }

    std::byte* host_address() const noexcept override { return mapped_; }
    std::uintptr_t handle() const noexcept override { return buffer_.name; }

    fence write(std::size_t offset, std::span<const std::byte> from, queue on) override {
        refuse_queue(on);
        return post([=](const gl_api& gl, gl_buffer buffer) { upload(gl, buffer, offset, from); });
    }

    fence read(std::size_t offset, std::span<std::byte> to, queue on) override {
        refuse_queue(on);
        return post([=](const gl_api& gl, gl_buffer buffer) { download(gl, buffer, offset, to); }, true);
    }

    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) override {
        refuse_queue(on);
        return post([=, repeated = std::vector(pattern.begin(), pattern.end())](const gl_api& gl, gl_buffer buffer) {
            backends::fill(gl, buffer, offset, bytes, repeated);
        });
    }

    fence publish_to_host(std::size_t, std::size_t, access, queue on) override {
        refuse_queue(on);
        return {};  // Every fence has done it: gl_fence::issue.
    }

    fence publish_to_device(std::size_t offset, std::size_t bytes, access, queue on) override {
        refuse_queue(on);
        if (!explicit_flush_) return {};
        return post(
            [=](const gl_api& gl, gl_buffer buffer) {
                gl.flush_mapped_buffer_range(buffer.name, static_cast<std::ptrdiff_t>(offset),
                                             static_cast<std::ptrdiff_t>(bytes));
            },
            true);
    }

private:
    template <class Job>
    fence post(Job job, bool at_once = false) {
        const gl_api& gl = context_->gl();  // The fence keeps the context.
        return gl_fence::post(context_, [&gl, job = std::move(job), buffer = buffer_] { job(gl, buffer); }, at_once);
    }

    std::shared_ptr<gl_context> context_;
    gl_buffer buffer_;
    std::byte* mapped_;
    bool explicit_flush_;
};

/// A buffer under construction.
class new_buffer {
public:
    new_buffer(const gl_api& gl, std::size_t bytes, unsigned storage, const std::string& of) : gl_(gl) {
        forget_errors(gl);
        gl.create_buffers(1, &name_);
        gl.buffer_storage(name_, static_cast<std::ptrdiff_t>(bytes), nullptr, storage);
        try {
            check_errors(gl, fmt::format("{} cannot give {} bytes", of, bytes), error_code::unsupported);
        } catch (...) {
            gl.delete_buffers(1, &name_);
            throw;
        }
    }
    ~new_buffer() {
        if (name_ != 0) gl_.delete_buffers(1, &name_);
    }
    new_buffer(const new_buffer&) = delete;
    new_buffer& operator=(const new_buffer&) = delete;

    unsigned name() const noexcept { return name_; }
    unsigned release() noexcept { return std::exchange(name_, 0); }

private:
    const gl_api& gl_;
    unsigned name_ = 0;
};

void check_size(const gl_context& context, std::size_t bytes) {
    const std::uint64_t most = std::numeric_limits<std::ptrdiff_t>::max();
    const std::uint64_t left = context.platform().own_memory ? most : std::min(most, host_memory_left());
    if (bytes <= left) return;
    throw error(error_code::out_of_memory,
                fmt::format("{} cannot give {} bytes: {} are left", context.description(), bytes, left));
}

std::unique_ptr<memory> make(const std::shared_ptr<gl_context>& context, std::size_t bytes, unsigned storage,
                             const gl_mapping* how) {
    check_size(*context, bytes);
    std::unique_ptr<memory> made;
    context->run([&] {
        const gl_api& gl = context->gl();
        new_buffer buffer(gl, bytes, storage, context->description());
        std::byte* mapped = nullptr;
        if (how) {
            mapped = static_cast<std::byte*>(
                gl.map_buffer_range(buffer.name(), 0, static_cast<std::ptrdiff_t>(bytes), how->map));
            const std::string what =
                fmt::format("{} cannot map {} bytes ({})", context->description(), bytes, how->description);
            check_errors(gl, what, error_code::unsupported);
            if (!mapped) throw error(error_code::unsupported, what);
        }
        made = std::make_unique<gl_memory>(context, gl_buffer{buffer.name(), how == nullptr}, mapped,
                                           how && how->explicit_flush);
        buffer.release();
    });
    return made;
}

}  // namespace

std::unique_ptr<memory> make_gl_memory(const std::shared_ptr<gl_context>& context, std::size_t bytes) {
    return make(context, bytes, gl::dynamic_storage, nullptr);
}

std::unique_ptr<memory> make_mapped_gl_memory(const std::shared_ptr<gl_context>& context, std::size_t bytes,
                                              const gl_mapping& how) {
    return make(context, bytes, how.storage, &how);
}

}  // namespace unibuf::backends
