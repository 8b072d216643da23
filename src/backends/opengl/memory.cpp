// backends/opengl/memory.cpp: buffer objects, mapped for as long as they live or not at all.
#include "backends/opengl/memory.hpp"

#include <fmt/format.h>

#include <atomic>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "backends/host/available_memory.hpp"
#include "backends/opengl/buffer_object.hpp"
#include "backends/opengl/errors.hpp"
#include "backends/opengl/fence.hpp"
#include "backends/opengl/transfer.hpp"
#include "backends/room_of.hpp"

namespace unibuf::backends {

namespace {

class gl_memory final : public memory {
public:
    gl_memory(std::shared_ptr<gl_context> context, std::shared_ptr<kept_buffers> kept, const gl_mapping* how)
        : context_(std::move(context)), kept_(std::move(kept)) {
        if (how) how_ = *how;
    }

    ~gl_memory() override {
        if (buffer_.name == 0) return;
        if (kept_ && !is_lent_) {
            kept_->keep(buffer_);
            return;
        }
        // Deleting a buffer unmaps it.
        context_->when_possible([remove = context_->gl().delete_buffers, name = buffer_.name] { remove(1, &name); });
    }

    gl_memory(const gl_memory&) = delete;
    gl_memory& operator=(const gl_memory&) = delete;

    /// Takes over the buffer object, and what keeps it.
    void use(const gl_buffer& buffer, std::shared_ptr<void> keeper = nullptr) noexcept {
        buffer_ = buffer;
        keeper_ = std::move(keeper);
    }

    /// Returns the buffer object for another API, whose driver may not let go of it as it should: it is not kept then.
    gl_buffer_object lend() const {
        is_lent_ = true;
        return {context_, buffer_.name};
    }

    std::byte* host_address() const noexcept override { return buffer_.mapped; }
    std::string_view how_mapped() const noexcept override { return how_.description; }
    std::uintptr_t handle() const noexcept override { return buffer_.name; }

    fence write(std::size_t offset, std::span<const std::byte> from, queue on) override {
        return post(on, !buffer_.mapped, [=](const gl_api& gl, unsigned name) { upload(gl, name, offset, from); });
    }

    fence read(std::size_t offset, std::span<std::byte> to, queue on) override {
        return post(on, true, [=](const gl_api& gl, unsigned name) { download(gl, name, offset, to); });
    }

    bool takes_from(const memory& other) const noexcept override {
        const auto* const source = dynamic_cast<const gl_memory*>(&other);
        return source && source->context_ == context_;
    }

    fence write_from(memory& other, std::size_t from, std::size_t offset, std::size_t bytes, queue on) override {
        return post(on, !buffer_.mapped,
                    [=, source = static_cast<unsigned>(other.handle())](const gl_api& gl, unsigned name) {
                        copy(gl, source, from, name, offset, bytes);
                    });
    }

    fence write_rectangle(const rectangle_copy& what, const std::byte* host, queue on) override {
        return post(on, true, [=](const gl_api& gl, unsigned name) { upload_rows(gl, name, what, host); });
    }

    fence read_rectangle(const rectangle_copy& what, std::byte* host, queue on) override {
        return post(on, true, [=](const gl_api& gl, unsigned name) { download_rows(gl, name, what, host); });
    }

    fence write_rectangle_from(memory& other, const rectangle_copy& what, queue on) override {
        return post(on, !buffer_.mapped,
                    [=, source = static_cast<unsigned>(other.handle())](const gl_api& gl, unsigned name) {
                        copy_rows_between(gl, source, name, what);
                    });
    }

    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) override {
        return post(on, !buffer_.mapped,
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

    /// All from the first row to the last is flushed: there is no harm in what has not changed.
    fence publish_rows_to_device(const rectangle_copy& what, access how, queue on) override {
        return publish_to_device(what.here.offset, what.span_of(what.here), how, on);
    }

    fence publish_rows_to_host(const rectangle_copy& what, access how, queue on) override {
        return publish_to_host(what.here.offset, what.span_of(what.here), how, on);
    }

private:
    /// Posts a job. A context works in order on memory that it alone addresses, so the work is done when the job is;
    /// only what the host is to see through a mapping has to be waited for.
    template <class Job>
    fence post(queue on, bool at_once, Job job) {
        context_->check_queue(on);
        const gl_api& gl = context_->gl();  // The fence keeps the context.
        return gl_fence::post(context_, [&gl, job = std::move(job), name = buffer_.name] { job(gl, name); }, at_once);
    }

    std::shared_ptr<gl_context> context_;
    std::shared_ptr<kept_buffers> kept_;
    gl_buffer buffer_;
    std::shared_ptr<void> keeper_;  // of a mapping that the host uses
    mutable std::atomic<bool> is_lent_ = false;
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

/// Makes a buffer object, which is not mapped where `how` is null. `context` has to be current here.
gl_buffer make_buffer(const gl_context& context, const gl_buffer_kind& kind, const gl_mapping* how) {
    const gl_api& gl = context.gl();
    gl_buffer made{.kind = kind};
    forget_errors(gl);
    gl.create_buffers(1, &made.name);
    try {
        gl.buffer_storage(made.name, static_cast<std::ptrdiff_t>(kind.bytes), nullptr, kind.storage);
        check_errors(gl, fmt::format("{} cannot give {} bytes", context.description(), kind.bytes),
                     error_code::unsupported);
        if (!how) return made;
        void* const address = gl.map_buffer_range(made.name, 0, static_cast<std::ptrdiff_t>(kind.bytes), kind.map);
        const std::string what =
            fmt::format("{} cannot map {} bytes ({})", context.description(), kind.bytes, how->description);
        check_errors(gl, what, error_code::unsupported);
        if (!address) throw error(error_code::unsupported, what);
        made.mapped = static_cast<std::byte*>(address);
        return made;
    } catch (...) {
        gl.delete_buffers(1, &made.name);
        throw;
    }
}

/// Makes memory, which is not mapped where `how` is null.
std::unique_ptr<memory> make(const std::shared_ptr<gl_context>& context, const std::shared_ptr<kept_buffers>& kept,
                             std::size_t bytes, const gl_mapping* how) {
    const gl_buffer_kind kind{
        .bytes = bytes, .storage = (how ? how->storage : 0) | gl::dynamic_storage, .map = how ? how->map : 0};
    auto made = std::make_unique<gl_memory>(context, kept, how);
    if (kept) made->use(kept->take(kind));
    const auto make_new = [&] {
        check_size(*context, bytes);
        context->run([&] {
            std::shared_ptr<void> keeper = how ? context->keeps_objects() : nullptr;
            made->use(make_buffer(*context, kind, how), std::move(keeper));
        });
    };
    if (made->handle() == 0) with_room_of(kept.get(), make_new);
    return made;
}

}  // namespace

std::optional<gl_buffer_object> buffer_object_of(const memory& of) {
    const auto* const found = dynamic_cast<const gl_memory*>(&of);
    return found ? std::optional(found->lend()) : std::nullopt;
}

std::unique_ptr<memory> make_gl_memory(const std::shared_ptr<gl_context>& context,
                                       const std::shared_ptr<kept_buffers>& kept, std::size_t bytes) {
    return make(context, kept, bytes, nullptr);
}

std::unique_ptr<memory> make_mapped_gl_memory(const std::shared_ptr<gl_context>& context,
                                              const std::shared_ptr<kept_buffers>& kept, std::size_t bytes,
                                              const gl_mapping& how) {
    return make(context, kept, bytes, &how);
}

}  // namespace unibuf::backends
