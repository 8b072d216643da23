// backends/opengl/memory.cpp: buffer objects, mapped for as long as they live or not at all.
#include "backends/opengl/memory.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "backends/opengl/buffer_object.hpp"
#include "backends/opengl/errors.hpp"
#include "backends/opengl/fence.hpp"
#include "backends/opengl/room.hpp"
#include "backends/opengl/transfer.hpp"

namespace unibuf::backends {

namespace {

class gl_memory final : public memory {
public:
    /// Makes a buffer object. `context` has to be current here.
    gl_memory(std::shared_ptr<gl_context> context, std::size_t bytes, unsigned storage)
        : context_(std::move(context)), bytes_(bytes) {
        const gl_api& gl = context_->gl();
        forget_errors(gl);
        gl.create_buffers(1, &name_);
        gl.buffer_storage(name_, static_cast<std::ptrdiff_t>(bytes), nullptr, storage | gl::dynamic_storage);
    }

    ~gl_memory() override {
        // Deleting a buffer unmaps it.
        context_->when_possible([remove = context_->gl().delete_buffers, name = name_] { remove(1, &name); });
    }

    gl_memory(const gl_memory&) = delete;
    gl_memory& operator=(const gl_memory&) = delete;

    /// Maps the buffer object. `context` has to be current here.
    void map(const gl_mapping& how) {
        const gl_api& gl = context_->gl();
        void* const address = gl.map_buffer_range(name_, 0, static_cast<std::ptrdiff_t>(bytes_), how.map);
        const std::string what =
            fmt::format("{} cannot map {} bytes ({})", context_->description(), bytes_, how.description);
        check_errors(gl, what, error_code::unsupported);
        if (!address) throw error(error_code::unsupported, what);
        mapped_ = static_cast<std::byte*>(address);
        how_ = how;
    }

    gl_buffer_object object() const { return {context_, name_}; }

    std::byte* host_address() const noexcept override { return mapped_; }
    std::string_view how_mapped() const noexcept override { return how_.description; }
    std::uintptr_t handle() const noexcept override { return name_; }

    fence write(std::size_t offset, std::span<const std::byte> from, queue on) override {
        return post(on, !mapped_, [=](const gl_api& gl, unsigned name) { upload(gl, name, offset, from); });
    }

    fence read(std::size_t offset, std::span<std::byte> to, queue on) override {
        return post(on, true, [=](const gl_api& gl, unsigned name) { download(gl, name, offset, to); });
    }

    bool takes_from(const memory& other) const noexcept override {
        const auto* const source = dynamic_cast<const gl_memory*>(&other);
        return source && source->context_ == context_;
    }

    fence write_from(memory& other, std::size_t from, std::size_t offset, std::size_t bytes, queue on) override {
        return post(on, !mapped_, [=, source = static_cast<unsigned>(other.handle())](const gl_api& gl, unsigned name) {
            copy(gl, source, from, name, offset, bytes);
        });
    }

    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) override {
        return post(on, !mapped_,
                    [=, repeated = std::vector(pattern.begin(), pattern.end())](const gl_api& gl, unsigned name) {
                        backends::fill(gl, name, offset, bytes, repeated);
                    });
    }

    fence publish_to_host(std::size_t, std::size_t, access, queue on) override {
        context_->check_queue(on);
        return {};  // Every fence has published already: see gl_fence::issue.
    }

    fence publish_to_device(std::size_t offset, std::size_t bytes, access, queue on) override {
        context_->check_queue(on);
        if (!how_.explicit_flush) return {};
        return post(on, true, [=](const gl_api& gl, unsigned name) {
            gl.flush_mapped_buffer_range(name, static_cast<std::ptrdiff_t>(offset), static_cast<std::ptrdiff_t>(bytes));
        });
    }

private:
    /// Posts a job. A context works in order on memory that it alone addresses, so the work is done when the job is;
    /// only what the host is to see through a mapping has to be waited for.
    template <class Job>
    fence post(queue on, bool at_once, Job job) {
        context_->check_queue(on);
        const gl_api& gl = context_->gl();  // The fence keeps the context.
        return gl_fence::post(context_, [&gl, job = std::move(job), name = name_] { job(gl, name); }, at_once);
    }

    std::shared_ptr<gl_context> context_;
    std::size_t bytes_;
    unsigned name_ = 0;
    std::byte* mapped_ = nullptr;
    gl_mapping how_;
};

void check_size(const gl_context& context, std::size_t bytes) {
    // Asking takes far longer than allocating.
    constexpr std::size_t harmless = std::size_t{1} << 20;
    const bool of_host = bytes > harmless && !context.platform().own_memory;
    const std::uint64_t most = std::numeric_limits<std::ptrdiff_t>::max();
    const std::uint64_t left = of_host ? std::min(most, host_memory_left()) : most;
    if (bytes <= left) return;
    throw error(error_code::out_of_memory,
                fmt::format("{} cannot give {} bytes: {} are left", context.description(), bytes, left));
}

/// Makes memory, which is not mapped where `how` is null.
std::unique_ptr<memory> make(const std::shared_ptr<gl_context>& context, std::size_t bytes, const gl_mapping* how) {
    check_size(*context, bytes);
    std::unique_ptr<gl_memory> made;
    context->run([&] {
        made = std::make_unique<gl_memory>(context, bytes, how ? how->storage : 0);
        check_errors(context->gl(), fmt::format("{} cannot give {} bytes", context->description(), bytes),
                     error_code::unsupported);
        if (how) made->map(*how);
    });
    return made;
}

}  // namespace

std::optional<gl_buffer_object> buffer_object_of(const memory& of) {
    const auto* const found = dynamic_cast<const gl_memory*>(&of);
    return found ? std::optional(found->object()) : std::nullopt;
}

std::unique_ptr<memory> make_gl_memory(const std::shared_ptr<gl_context>& context, std::size_t bytes) {
    return make(context, bytes, nullptr);
}

std::unique_ptr<memory> make_mapped_gl_memory(const std::shared_ptr<gl_context>& context, std::size_t bytes,
                                              const gl_mapping& how) {
    return make(context, bytes, &how);
}

}  // namespace unibuf::backends
